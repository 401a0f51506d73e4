// The record of dead letters: a table that people read with SQL, on a laptop and on AWS.
import { TorenError } from "../../core/errors.ts";
import { fromStored, type Json, toStored } from "../../core/json.ts";
import type { Database } from "../../ports/database.ts";
import type { DeadLetters, KeptLetter, QueueName } from "../../ports/queue.ts";
import { QUERIES } from "../../sql/queries.ts";
import { repeatedOnce } from "../database/failures.ts";

interface Row {
  readonly message_id: string;
  readonly queue: QueueName;
  readonly body: Json;
  readonly receive_count: number;
  readonly place: string;
  readonly recorded_at: number;
}

export function createDeadLetters(database: Database): DeadLetters {
  const list = async (place: string | null, id: string | null, limit: number, only: string | null): Promise<Row[]> => {
    const values = [place, id, limit, only];
    return (await repeatedOnce(() => database.pool.query<Row>({ text: QUERIES["list-dead-letters"], values }))).rows;
  };
  return {
    page: async (before, limit) => {
      const [place, id] = before === null ? [null, null] : decode(before);
      const rows = await list(place, id, limit + 1, null);
      const last = rows[limit - 1];
      const next = rows.length > limit && last !== undefined ? encode(last) : null;
      return { letters: rows.slice(0, limit).map(kept), next };
    },
    get: async (messageId) => {
      const [row] = await list(null, null, 1, messageId);
      return row === undefined ? null : kept(row);
    },
    drop: async (messageId) => {
      const text = QUERIES["drop-dead-letter"];
      return ((await database.pool.query({ text, values: [messageId] })).rowCount ?? 0) > 0;
    },
    record: async (letters) => {
      if (letters.length === 0) return;
      const values = [
        letters.map((l) => l.messageId),
        letters.map((l) => l.queue),
        letters.map((l) => jsonText(l.body)),
        letters.map((l) => l.receiveCount),
      ];
      await repeatedOnce(() => database.pool.query({ text: QUERIES["record-dead-letters"], values }));
    },
  };
}

const kept = (row: Row): KeptLetter => ({
  messageId: row.message_id,
  queue: row.queue,
  body: fromStored(row.body),
  receiveCount: row.receive_count,
  recordedAt: row.recorded_at,
});

const encode = (row: Row): string => Buffer.from(JSON.stringify([row.place, row.message_id])).toString("base64url");

function decode(cursor: string): [string, string] {
  const wrong = new TorenError("request.invalid", "The cursor isn't one that a page of dead letters gave.");
  try {
    const [place, id] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof place === "string" && PLACE.test(place) && typeof id === "string" && !id.includes("\0"))
      return [place, id];
  } catch {
    throw wrong;
  }
  throw wrong;
}
const PLACE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** Anything can come as a message: what isn't JSON is kept as a string that shows it, escaped as the log does. */
function jsonText(body: string): string {
  let value: Json = body;
  try {
    value = JSON.parse(body);
  } catch {
    // Kept as text.
  }
  return JSON.stringify(toStored(value));
}
