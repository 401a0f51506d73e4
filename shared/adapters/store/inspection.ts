// What people look at in a run: read-only, on the connections of readers.
import { BLOB_KEY, fromStored, isObject, type Json, type JsonObject, SEALED_KEY } from "../../core/json.ts";
import { OUTLINE_SAID_CHARS, OUTLINE_SEALED_CHARS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Inspection } from "../../ports/inspection.ts";
import type { RequestHeader } from "../../ports/store.ts";
import { openAll, openApart, type Seals } from "./seals.ts";
import { createStatements } from "./statements.ts";

interface OutlineRow {
  readonly seq: number;
  readonly type: string;
  readonly payload: JsonObject;
  readonly recorded_at: number;
  /** The field that `said` is of, and that `error` stood under, as their seals know them. */
  readonly said_of: string | null;
  readonly error_of: string | null;
}

export function createInspection(database: Pick<Database, "appends" | "pool" | "sealer">): Inspection {
  const statements = createStatements(database);
  return {
    outline: async ({ agent, runId, streamId }, after, limit) => {
      const values = [runId, streamId, after, limit, OUTLINE_SAID_CHARS, SEALED_KEY, OUTLINE_SEALED_CHARS];
      const rows = await statements.ask<OutlineRow>("read-outline", agent, values);
      const payloads = await openedOutlines(statements.seals, agent, runId, rows);
      return rows.map(({ seq, type, recorded_at: recordedAt }, i) => ({
        seq,
        type,
        recordedAt,
        payload: readable(payloads[i] ?? {}),
      }));
    },
    header: async (agent, digest) => {
      const [row] = await statements.ask<{ header: Json }>("read-header", agent, [digest]);
      if (row === undefined) return null;
      const header = fromStored(await openApart(statements.seals.sealer, row.header, "header"));
      return { ...(header as unknown as RequestHeader), digest };
    },
  };
}

/** Of what is sealed the statement can't cut the beginning, so it brings all of it. */
async function openedOutlines(
  seals: Seals,
  agent: string,
  runId: string,
  rows: readonly OutlineRow[],
): Promise<JsonObject[]> {
  const part = (name: string, of: (row: OutlineRow) => string | null) =>
    rows.map((row) => ({ runId, value: row.payload[name] ?? null, place: of(row) ?? name }));
  const [said, errors, payloads] = await Promise.all([
    openAll(
      seals,
      agent,
      part("said", (row) => row.said_of),
    ),
    openAll(
      seals,
      agent,
      part("error", (row) => row.error_of),
    ),
    openAll(
      seals,
      agent,
      rows.map(({ payload: { said: _said, error: _error, ...rest } }) => ({ runId, value: rest })),
    ),
  ]);
  return rows.map(({ payload, said_of }, i) => {
    const whole: Record<string, Json> = { ...(payloads[i] as JsonObject) };
    if ("error" in payload) whole.error = errors[i] ?? null;
    const first = said[i] ?? null;
    if ("said" in payload) whole.said = first === payload.said ? first : beginning(first, said_of);
    return whole;
  });
}

/** As the statement cuts what isn't sealed: of an answer its first text, of another value its JSON. */
function beginning(value: Json, of: string | null): Json {
  const shown = of === "response.content" ? firstText(value) : value;
  if (shown === null) return null;
  const text = typeof shown === "string" ? shown : JSON.stringify(shown);
  const characters = Array.from(text.slice(0, 2 * OUTLINE_SAID_CHARS)); // as the statement counts them
  return characters.slice(0, OUTLINE_SAID_CHARS).join("");
}

function firstText(content: Json): Json {
  const parts: readonly Json[] = Array.isArray(content) ? content : [];
  const first = parts.find((part) => isObject(part) && part.type === "text");
  return isObject(first) ? (first.text ?? null) : null;
}

/** A value that lies in a blob was cut like any other: its pointer says nothing to a person. */
const POINTER = new RegExp(`^\\{"(?:bytes|${BLOB_KEY.replace(/\W/g, "\\$&")})":`);

function readable(payload: JsonObject): JsonObject {
  const { said, ...rest } = fromStored(payload) as JsonObject;
  return said == null || (typeof said === "string" && POINTER.test(said)) ? rest : { ...rest, said };
}
