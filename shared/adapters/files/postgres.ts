// Files in a table. Twin on AWS: the same, and S3 above 4 MiB.
import { createHash } from "node:crypto";
import { TorenError } from "../../core/errors.ts";
import { fromStored, toStored } from "../../core/json.ts";
import { FILE_MAX_BYTES } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { FileInfo, Files } from "../../ports/files.ts";
import { QUERIES } from "../../sql/queries.ts";
import { repeatedOnce } from "../database/failures.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly media_type: string;
  readonly bytes: number;
}

export function createPostgresFiles(database: Database): Files {
  const list = async (ids: readonly string[]): Promise<FileInfo[]> => {
    const { rows } = await repeatedOnce(() => database.pool.query<Row>(QUERIES["list-files"], [ids]));
    return rows.map((row) => ({ id: row.id, name: text(row.name), mediaType: text(row.media_type), bytes: row.bytes }));
  };
  return {
    list,
    add: async ({ name, mediaType, content }) => {
      if (content.byteLength > FILE_MAX_BYTES) {
        const message = `The file "${name}" has ${content.byteLength} bytes; ${FILE_MAX_BYTES} is the most.`;
        throw new TorenError("request.too_large", message);
      }
      const id = fileId(name, content);
      const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
      const values = [id, toStored(name), toStored(mediaType), bytes];
      await repeatedOnce(() => database.pool.query(QUERIES["add-file"], values));
      const [info] = await list([id]); // the media type of whoever was first
      if (info === undefined) throw new Error(`file ${id} was not kept`);
      return info;
    },
    content: async (id) => {
      const { rows } = await repeatedOnce(() => database.pool.query<{ content: Buffer }>(QUERIES["read-file"], [id]));
      return rows[0]?.content ?? null;
    },
  };
}

/** Names may hold what Postgres' text can't (`\u0000`); the log's reversible escape covers them. */
const text = (stored: string): string => String(fromStored(stored));

/** Length-prefixed, so that no name and content run into another pair. */
function fileId(name: string, content: Uint8Array): string {
  const label = Buffer.from(JSON.stringify(name), "utf8"); // lone surrogates stay apart from one another, as escapes
  const hash = createHash("sha256").update(`${label.length}:`).update(label).update(content);
  return `file_${hash.digest("hex").slice(0, 32)}`;
}
