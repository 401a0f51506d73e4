// Files in a table, the large ones' content in an object store where there is one. Shared by the twins postgres.ts and s3.ts.
import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import { TorenError } from "../../core/errors.ts";
import { fromStored, toStored } from "../../core/json.ts";
import { FILE_MAX_BYTES } from "../../core/limits.ts";
import { NO_SEALER } from "../../core/sealing.ts";
import { joinPages } from "../../core/text-files.ts";
import type { Database } from "../../ports/database.ts";
import type { FileInfo, Files, NewFile, Removed } from "../../ports/files.ts";
import type { DataKey } from "../../ports/sealer.ts";
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

/** Where content lies that is too large for a row. Keys are made of the content, so an object never changes. */
export interface ObjectStore {
  /** Content of more bytes than this goes there. */
  readonly aboveBytes: number;
  /** Idempotent; durable when it resolves. */
  put(key: string, content: Uint8Array): Promise<void>;
  /** Null: no such object. */
  get(key: string): Promise<Uint8Array | null>;
  /** Idempotent. */
  remove(key: string): Promise<void>;
}

export function createFileRows(database: Database, objects: ObjectStore | null): Omit<Files, "uploads"> {
  const { pool, sealer = NO_SEALER } = database;
  const list = async (ids: readonly string[]): Promise<FileInfo[]> => {
    if (ids.length === 0) return []; // most runs have none: their start is a round trip quicker
    const { rows } = await repeatedOnce(() => pool.query<Row>(QUERIES["list-files"], [ids]));
    return rows.map(infoOf);
  };
  const body = async (id: string): Promise<BodyRow | undefined> =>
    (await repeatedOnce(() => pool.query<BodyRow>(QUERIES["read-file"], [id]))).rows[0];
  return {
    list,
    add: async (file) => {
      const id = checkedId(file);
      const [there] = await list([id]);
      if (there !== undefined) return there;
      const { values, object } = addValues(id, file, objects, await sealer.fresh(id));
      if (object !== null) await objects?.put(object.key, object.content); // first: a row never names what isn't there
      await repeatedOnce(() => pool.query(QUERIES["add-file"], values));
      // Sealed by somebody else who was quicker, with a key of its own, it lies elsewhere. If this fails mine is left where nobody looks.
      if (object?.sealed && (await body(id))?.object_key !== object.key)
        await objects?.remove(object.key).catch(() => {});
      const [info] = await list([id]); // the media type of whoever was first
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
      const row = await body(id);
      if (row === undefined) return null;
      const bytes = row.content ?? (await fromStore(objects, row.object_key));
      if (bytes === null || row.data_key === null) return bytes;
      return (await sealer.unwrap(row.data_key)).openBytes(CONTENT, bytes);
    },
    pageText: async (id) => {
      const query = () => pool.query<PageTextRow>(QUERIES["read-page-text"], [id]);
      const { page_text: pages = null, data_key: key = null } = (await repeatedOnce(query)).rows[0] ?? {};
      return pages === null || key === null ? pages : (await sealer.unwrap(key)).open(PAGES, pages);
    },
    forget: async (id) => {
      const forgotten = await repeatedOnce(() =>
        inTransaction(database, (client) => remove(client, id, "find-any-file-use")),
      );
      if (forgotten.key !== null) await objects?.remove(forgotten.key).catch(() => {});
      return forgotten.type === "removed";
    },
    remove: async (id) => {
      const { key, ...removed } = await repeatedOnce(() => inTransaction(database, (client) => remove(client, id)));
      // What is left there when this fails is what nobody can read; the bucket's owner may clear it.
      if (key !== null) await objects?.remove(key).catch(() => {});
      return removed;
    },
  };
}

interface BodyRow {
  readonly content: Buffer | null;
  readonly object_key: string | null;
  readonly data_key: string | null;
}
interface PageTextRow {
  readonly page_text: string | null;
  readonly data_key: string | null;
}

/** What is sealed of a file. Its name and kind aren't. */
const CONTENT = "content";
const PAGES = "pages";

async function fromStore(objects: ObjectStore | null, key: string | null): Promise<Uint8Array | null> {
  if (key === null) return null;
  if (objects !== null) return await objects.get(key);
  throw new TorenError("file.unreadable", "The file's content lies in an object store that this process doesn't use.");
}

interface Added {
  readonly values: unknown[];
  readonly object: { readonly key: string; readonly content: Uint8Array; readonly sealed: boolean } | null;
}

/** @throws TorenError `request.too_large` */
function checkedId({ name, content }: NewFile): string {
  if (content.byteLength > FILE_MAX_BYTES) {
    const message = `The file "${name}" has ${content.byteLength} bytes; ${FILE_MAX_BYTES} is the most.`;
    throw new TorenError("request.too_large", message);
  }
  return fileId(name, content);
}

function addValues(id: string, file: NewFile, objects: ObjectStore | null, key: DataKey | null): Added {
  const { name, mediaType, content, pageTexts } = file;
  const plain = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const bytes = key === null ? plain : key.sealBytes(CONTENT, plain);
  const pages = pageTexts === undefined ? null : joinPages(pageTexts);
  const read = [pageTexts?.length ?? null, pages === null || key === null ? pages : key.seal(PAGES, pages)];
  const large = objects !== null && plain.byteLength > objects.aboveBytes;
  // Sealed anew it is another object: its key is in the row of whoever was first.
  const place = key === null ? `files/${id}` : `files/${id}.${hashOf(key.wrapped)}`;
  const object = large ? { key: place, content: bytes, sealed: key !== null } : null;
  const body = object === null ? [bytes, null] : [null, object.key];
  const about = [id, toStored(name), toStored(mediaType), plain.byteLength];
  return { object, values: [...about, ...body, ...read, key?.wrapped ?? null] };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

const infoOf = ({ id, name, media_type, bytes, pages }: Row): FileInfo => ({
  id,
  name: text(name),
  mediaType: text(media_type),
  bytes,
  pages,
});

/** Statements, not one: a run can be in any agent's schema, and what is asked after the lock must see what was committed before it. */
async function remove(
  client: PoolClient,
  id: string,
  use: "find-file-use" | "find-any-file-use" = "find-file-use",
): Promise<Removed & { readonly key: string | null }> {
  const held = await client.query(QUERIES["hold-file"], [id]);
  if (held.rowCount === 0) return { type: "unknown", key: null };
  const { rows: agents } = await client.query<{ agent: string }>(QUERIES["list-agents"]);
  for (const { agent } of agents) {
    const query = QUERIES[use].replaceAll(":agent", `agent_${agent}`); // a name that the table's CHECK let in
    const [user] = (await client.query<{ run_id: string }>(query, [id])).rows;
    if (user !== undefined) return { type: "attached", agent, runId: user.run_id, key: null };
  }
  const { rows: removed } = await client.query<{ object_key: string | null }>(QUERIES["remove-file"], [id]);
  return { type: "removed", key: removed[0]?.object_key ?? null };
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
