// What people look at in a run: read-only, on the connections of readers.
import { BLOB_KEY, fromStored, type Json, type JsonObject } from "../../core/json.ts";
import { OUTLINE_SAID_CHARS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Inspection } from "../../ports/inspection.ts";
import type { RequestHeader } from "../../ports/store.ts";
import { createStatements } from "./statements.ts";

interface OutlineRow {
  readonly seq: number;
  readonly type: string;
  readonly payload: JsonObject;
  readonly recorded_at: number;
}

export function createInspection(database: Pick<Database, "appends" | "pool">): Inspection {
  const statements = createStatements(database);
  return {
    outline: async ({ agent, runId, streamId }, after, limit) => {
      const values = [runId, streamId, after, limit, OUTLINE_SAID_CHARS];
      const rows = await statements.ask<OutlineRow>("read-outline", agent, values);
      return rows.map(({ seq, type, payload, recorded_at: recordedAt }) => ({
        seq,
        type,
        recordedAt,
        payload: readable(payload),
      }));
    },
    header: async (agent, digest) => {
      const [row] = await statements.ask<{ header: Json }>("read-header", agent, [digest]);
      return row === undefined ? null : { ...(fromStored(row.header) as unknown as RequestHeader), digest };
    },
  };
}

/** A value that lies in a blob was cut like any other: its pointer says nothing to a person. */
const POINTER = new RegExp(`^\\{"(?:bytes|${BLOB_KEY.replace(/\W/g, "\\$&")})":`);

function readable(payload: JsonObject): JsonObject {
  const { said, ...rest } = fromStored(payload) as JsonObject;
  return said == null || (typeof said === "string" && POINTER.test(said)) ? rest : { ...rest, said };
}
