// Files in a table. Twin on AWS: the same, and S3 above 4 MiB.
import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import { TorenError } from "../../core/errors.ts";
import { fromStored, toStored } from "../../core/json.ts";
import { FILE_MAX_BYTES } from "../../core/limits.ts";
import { joinPages } from "../../core/text-files.ts";
import type { Database } from "../../ports/database.ts";
import type { FileInfo, Files, NewFile, Removed } from "../../ports/files.ts";
import { QUERIES } from "../../sql/queries.ts";
import { repeatedOnce } from "../database/failures.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly pages: number | null;
}
interface ListedRow extends Row {
  readonly place: string;
  readonly created_at: number;
}

export function createPostgresFiles(database: Database): Files {
  const { pool } = database;
  const list = async (ids: readonly string[]): Promise<FileInfo[]> => {
    const { rows } = await repeatedOnce(() => pool.query<Row>(QUERIES["list-files"], [ids]));
    return rows.map(infoOf);
  };
  return {
    list,
    add: async (file) => {
      const values = addValues(file);
      await repeatedOnce(() => pool.query(QUERIES["add-file"], values));
      const [info] = await list([values[0]]); // the media type of whoever was first
      if (info === undefined) throw new TorenError("file.unknown", `The file "${file.name}" was removed as it came.`);
      return info;
    },
    page: async ({ limit, before }) => {
      const cursor = before === undefined ? null : decodeCursor(before);
      const values = [cursor?.place ?? null, cursor?.id ?? null, limit + 1];
      const { rows } = await repeatedOnce(() => pool.query<ListedRow>(QUERIES["list-all-files"], values));
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      return {
        files: shown.map((row) => ({ ...infoOf(row), createdAt: row.created_at })),
        next: rows.length > limit && last !== undefined ? encodeCursor(last) : null,
      };
    },
    content: async (id) => {
      const { rows } = await repeatedOnce(() => pool.query<{ content: Buffer }>(QUERIES["read-file"], [id]));
      return rows[0]?.content ?? null;
    },
    pageText: async (id) => {
      const query = () => pool.query<{ page_text: string | null }>(QUERIES["read-page-text"], [id]);
      return (await repeatedOnce(query)).rows[0]?.page_text ?? null;
    },
    remove: (id) => repeatedOnce(() => inTransaction(database, (client) => remove(client, id))),
  };
}

function addValues({ name, mediaType, content, pageTexts }: NewFile): [id: string, ...rest: unknown[]] {
  if (content.byteLength > FILE_MAX_BYTES) {
    const message = `The file "${name}" has ${content.byteLength} bytes; ${FILE_MAX_BYTES} is the most.`;
    throw new TorenError("request.too_large", message);
  }
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const read = pageTexts === undefined ? [null, null] : [pageTexts.length, joinPages(pageTexts)];
  return [fileId(name, content), toStored(name), toStored(mediaType), bytes, ...read];
}

const infoOf = ({ id, name, media_type, bytes, pages }: Row): FileInfo => ({
  id,
  name: text(name),
  mediaType: text(media_type),
  bytes,
  pages,
});

/** Statements, not one: a run can be in any agent's schema, and what is asked after the lock must see what was committed before it. */
async function remove(client: PoolClient, id: string): Promise<Removed> {
  const held = await client.query(QUERIES["hold-file"], [id]);
  if (held.rowCount === 0) return { type: "unknown" };
  const { rows: agents } = await client.query<{ agent: string }>(QUERIES["list-agents"]);
  for (const { agent } of agents) {
    const query = QUERIES["find-file-use"].replaceAll(":agent", `agent_${agent}`); // a name that the table's CHECK let in
    const [use] = (await client.query<{ run_id: string }>(query, [id])).rows;
    if (use !== undefined) return { type: "attached", agent, runId: use.run_id };
  }
  await client.query(QUERIES["remove-file"], [id]);
  return { type: "removed" };
}

async function inTransaction<T>({ pool }: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const ignore = (): void => {}; // a lost connection fails its statement; without a listener it would end the process too
  client.on("error", ignore);
  let broken = true;
  try {
    await client.query("BEGIN");
    const value = await work(client);
    await client.query("COMMIT");
    broken = false;
    return value;
  } finally {
    client.off("error", ignore);
    client.release(broken); // a connection that failed is dropped, and its transaction with it
  }
}

/** Names may hold what Postgres' text can't (`\u0000`); the log's reversible escape covers them. */
const text = (stored: string): string => String(fromStored(stored));

/** Length-prefixed, so that no name and content run into another pair. */
function fileId(name: string, content: Uint8Array): string {
  const label = Buffer.from(JSON.stringify(name), "utf8"); // lone surrogates stay apart from one another, as escapes
  const hash = createHash("sha256").update(`${label.length}:`).update(label).update(content);
  return `file_${hash.digest("hex").slice(0, 32)}`;
}
