// One outside fact into a stream's inbox (I3): once per key, whoever else delivers it at the same moment, and whatever becomes of the acknowledgement.
import type { Pool } from "pg";
import { contentOfFact } from "../../core/content.ts";
import type { Fact } from "../../core/events.ts";
import { canonical, type Json, type JsonObject, toJson, toStored } from "../../core/json.ts";
import { GRACE_MS } from "../../core/limits.ts";
import { missingFor, sealed } from "../../core/sealing.ts";
import type { Delivered, StreamStore } from "../../ports/store.ts";
import { codeOf } from "../database/failures.ts";
import { openAndRead } from "./seals.ts";
import { explained, repeatable, type Statements, wasDoubtful } from "./statements.ts";

const UNIQUE_VIOLATION = "23505";

interface Winner {
  readonly status: string;
  readonly seq: number | null;
  readonly payload: Json;
  readonly at: number;
  /** Of the run; null: it is plain. */
  readonly data_key: string | null;
}

export const createDeliver =
  (pool: Pool, statements: Statements): StreamStore["deliver"] =>
  async (stream, key, fact) => {
    const dataKey = await statements.seals.toWrite(stream.agent, stream.runId);
    const paths = contentOfFact(fact.kind);
    const stored = dataKey === null ? toStored(fact) : sealed(toStored(fact), paths, dataKey);
    // Content in clear is for plain runs alone. Who has a key set has looked; for who has none the statement does.
    const plainOnly = dataKey === null && paths.some((path) => saysSomething((fact as unknown as JsonObject)[path]));
    const values = [stream.runId, stream.streamId, key, fact.kind, JSON.stringify(stored), GRACE_MS, plainOnly];
    let doubtful: boolean;
    try {
      const posted = await repeatable<{ nudge: boolean }>(pool, "deliver-fact", stream.agent, values, true);
      const [row] = posted.rows;
      if (row !== undefined) return { type: "delivered", nudge: row.nudge };
      doubtful = posted.doubtful;
    } catch (e) {
      if (codeOf(e) !== UNIQUE_VIOLATION) throw explained(e);
      doubtful = wasDoubtful(e);
    }
    const [winner] = await statements.change<Winner>("read-fact", stream.agent, [stream.runId, stream.streamId, key]);
    if (winner === undefined) return { type: "missing" };
    if (winner.seq === null) {
      if (winner.status !== "ended" && plainOnly && winner.data_key !== null) throw missingFor(winner.data_key);
      return { type: "ended" };
    }
    const [first] = await openAndRead(statements.seals, stream.agent, [{ runId: stream.runId, value: winner.payload }]);
    return judge(winner, first as unknown as Fact, fact, doubtful);
  };

const saysSomething = (value: Json | undefined): boolean =>
  value !== undefined && !(typeof value === "string" && value.trim() === "");

function judge(winner: Winner, fact: Fact, mine: Fact, doubtful: boolean): Delivered {
  // Repeated after a lost acknowledgement, and the same to the letter: it was this one. Woken or not isn't known; a nudge too many does no harm (I9).
  if (doubtful && canonical(toJson(fact)) === canonical(toJson(mine)))
    return { type: "delivered", nudge: winner.status === "ready" };
  return { type: "duplicate", fact, at: winner.at };
}
