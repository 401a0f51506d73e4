// A run that begins with a copy of another one's log.
import type { Pool } from "pg";
import { digestOf } from "../../core/digest.ts";
import { TorenError } from "../../core/errors.ts";
import { GRACE_MS } from "../../core/limits.ts";
import type { DataKey } from "../../ports/sealer.ts";
import type { Fork, ForkStore } from "../../ports/store.ts";
import { codeOf } from "../database/failures.ts";
import { foundRun } from "./runs.ts";
import { explained, repeatable, type Statements, wasDoubtful } from "./statements.ts";
import { storedEvent } from "./values.ts";

const UNIQUE_VIOLATION = "23505";

export const createForks = (pool: Pool, statements: Statements): ForkStore => ({
  fork: async (fork) => {
    const request = digestOf(fork.request);
    // What is copied is sealed with the source's key, so that is the fork's too.
    const key = await statements.seals.toWrite(fork.agent, fork.source);
    const values = valuesOf(fork, request, key);
    let doubtful: boolean;
    try {
      const { rows } = await repeatable(pool, "fork-run", fork.agent, values, false);
      return rows.length === 0 ? null : { type: "created", runId: fork.runId, same: true };
    } catch (e) {
      if (codeOf(e) !== UNIQUE_VIOLATION) throw explained(e);
      doubtful = wasDoubtful(e);
    }
    const found = await foundRun(statements, fork.agent, fork.runId, fork.idempotencyKey);
    if (found === null) throw new TorenError("bug", `The run ${fork.runId} belongs to another agent.`);
    const mine = doubtful && found.run_id === fork.runId;
    return { type: mine ? "created" : "existing", runId: found.run_id, same: found.request_digest === request };
  },
  externalCalls: async (agent, runId, tasks) => {
    const columns = [tasks.map((t) => t.taskId), tasks.map((t) => t.after), tasks.map((t) => t.open)];
    const rows = await statements.ask<{ task_id: string; tool: string }>("list-external-calls", agent, [
      runId,
      ...columns,
    ]);
    return rows.map((row) => ({ taskId: row.task_id, tool: row.tool }));
  },
});

const valuesOf = ({ streams, events, waves, ...fork }: Fork, request: string, key: DataKey | null): unknown[] => [
  fork.runId,
  fork.source,
  fork.agent,
  fork.generation,
  fork.codeHash,
  fork.idempotencyKey,
  request,
  GRACE_MS,
  streams.map((s) => s.streamId),
  streams.map((s) => s.head),
  streams.map((s) => s.wave),
  streams.map((s) => (s.outcome === null ? "ready" : "ended")),
  streams.map((s) => s.outcome),
  events.map((e) => e.type),
  events.map((e) => storedEvent(e, key).text),
  waves.map((w) => w.wave),
  waves.map((w) => w.onTaskFailure),
  waves.map((w) => w.unsettled),
  waves.map((w) => w.maxParallel),
  fork.sealedSeq,
];
