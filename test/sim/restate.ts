// The cached status of a run, as the append statement keeps it: how many of its streams wait for a person, and what its own stream does.
import type { Append, Wait } from "../../shared/ports/store.ts";
import { type Run, type RunRecord, runKey, type Stream, type Transaction } from "./database.ts";
import { stored } from "./stored.ts";

/** An append that takes effect, and its stream as it was before. */
interface Item {
  readonly append: Append;
  readonly row: Stream;
}

const PHASES: Readonly<Partial<Record<Wait, RunRecord["phase"]>>> = {
  timer: "waitingTimer",
  retry: "waitingRetry",
  signal: "waitingSignal",
};
const phaseOf = (wait: Wait | null): RunRecord["phase"] => (wait !== null && PHASES[wait]) || "running";

const PERSONS = ["cut", "approval", "input"] as const;

/** The runs rows, last: the cached status. */
export async function restate(tx: Transaction, ok: readonly Item[], moved: ReadonlyMap<Append, Stream>): Promise<void> {
  for (const [runId, some] of [...Map.groupBy(ok, (f) => f.row.runId)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const waiting = { cut: 0, approval: 0, input: 0 };
    let change: Partial<RunRecord> = {};
    for (const { append, row } of some) {
      const now = moved.get(append) as Stream;
      for (const wait of PERSONS) waiting[wait] += Number(now.wait === wait) - Number(row.wait === wait);
      if (row.streamId !== "run") continue;
      if (phaseOf(now.wait) !== phaseOf(row.wait)) change = { phase: phaseOf(now.wait) };
      if (append.next.type === "end") change = { ...change, ...endOf(tx, append.next.outcome) };
    }
    if (PERSONS.every((wait) => waiting[wait] === 0) && Object.keys(change).length === 0) continue;
    await tx.lock([runKey(runId)]);
    tx.write(() => {
      const run = tx.db.run(runId) as Run;
      const { waitingCut, waitingApproval, waitingInput } = run.record;
      run.record = {
        ...run.record,
        ...change,
        waitingCut: waitingCut + waiting.cut,
        waitingApproval: waitingApproval + waiting.approval,
        waitingInput: waitingInput + waiting.input,
      };
    });
  }
}

function endOf(tx: Transaction, outcome: Extract<Append["next"], { type: "end" }>["outcome"]): Partial<RunRecord> {
  const output = outcome.status === "completed" ? stored(outcome.output) : null;
  return { ended: outcome.status, endedAt: tx.clock(), output, error: "error" in outcome ? outcome.error : null };
}
