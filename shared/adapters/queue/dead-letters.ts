// The record of dead letters: a table that people read with SQL, on a laptop and on AWS.
import { type Json, toStored } from "../../core/json.ts";
import type { Database } from "../../ports/database.ts";
import type { DeadLetters } from "../../ports/queue.ts";
import { QUERIES } from "../../sql/queries.ts";
import { repeatedOnce } from "../database/failures.ts";

export function createDeadLetters(database: Database): DeadLetters {
  return {
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
