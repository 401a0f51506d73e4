// One outside fact into a stream's inbox (I3): once per key, whoever else delivers it at the same moment, and whatever becomes of the acknowledgement.
import type { Pool } from "pg";
import type { Fact } from "../../core/events.ts";
import { canonical, fromStored, type Json, toJson, toStored } from "../../core/json.ts";
import { GRACE_MS } from "../../core/limits.ts";
import type { Delivered, StreamStore } from "../../ports/store.ts";
import { codeOf } from "../database/failures.ts";
import { explained, repeatable, type Statements, wasDoubtful } from "./statements.ts";

const UNIQUE_VIOLATION = "23505";

interface Winner {
  readonly status: string;
  readonly seq: number | null;
  readonly payload: Json;
  readonly at: number;
}

export const createDeliver =
  (pool: Pool, statements: Statements): StreamStore["deliver"] =>
  async (stream, key, fact) => {
    const stored = toStored(fact);
    const values = [stream.runId, stream.streamId, key, fact.kind, JSON.stringify(stored), GRACE_MS];
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
    return judge(winner, fact, doubtful);
  };

function judge(winner: Winner | undefined, mine: Fact, doubtful: boolean): Delivered {
  if (winner === undefined) return { type: "missing" };
  if (winner.seq === null) return { type: "ended" };
  const fact = fromStored(winner.payload) as unknown as Fact;
  // Repeated after a lost acknowledgement, and the same to the letter: it was this one. Woken or not isn't known; a nudge too many does no harm (I9).
  if (doubtful && canonical(toJson(fact)) === canonical(toJson(mine)))
    return { type: "delivered", nudge: winner.status === "ready" };
  return { type: "duplicate", fact, at: winner.at };
}
