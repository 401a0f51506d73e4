// Child runs, as their parent's tick sees them: how those that ended did, and where each new one begins. A child tells its parent in the statement that ends
// it, by a fact that only names it; how it ended is read from its row, so a child that goes on after a retry isn't taken for one that has ended.
import type { TaskOutcome } from "../core/events.ts";
import { jsonBytes } from "../core/json.ts";
import { SETTLE_CHUNK_BYTES } from "../core/limits.ts";
import { childRunId, depthOf } from "../core/workflow/child.ts";
import type { RunHistory } from "../core/workflow/fold.ts";
import type { NewChild } from "../core/workflow/plan.ts";
import type { PlannedChild } from "../ports/store.ts";
import type { TickWork } from "./tick-work.ts";

/** How children ended that have: read together, for all of a tick's facts. */
export class ChildOutcomes {
  readonly #work: TickWork;
  readonly #wanted: readonly string[];
  #read: ReadonlyMap<string, TaskOutcome> | undefined;
  #bytes = 0;

  constructor(work: TickWork, wanted: readonly string[]) {
    this.#work = work;
    this.#wanted = wanted;
  }

  /** ChildEnded, if the child is one that the workflow waits for and has ended. `inboxSeq` null: no fact says so. */
  async settle(run: string, inboxSeq: number | null): Promise<void> {
    const { history, record, writer } = this.#work;
    const start = history().children.get(run);
    const outcome =
      start === undefined || history().over.has(start.seq)
        ? undefined
        : (history().inherited.get(run) ?? (await this.#outcomes()).get(run));
    if (start === undefined || outcome === undefined) {
      if (inboxSeq !== null)
        record({ type: "FactIgnored", inboxSeq, reason: `run ${run} was heard of already, was cut, or goes on` });
      return;
    }
    record({ type: "ChildEnded", op: start.seq, outcome, ...(inboxSeq === null ? {} : { inboxSeq }) });
    this.#bytes += outcome.status === "completed" ? jsonBytes(outcome.output) : 0;
    if (this.#bytes < SETTLE_CHUNK_BYTES) return;
    await writer.flush();
    this.#bytes = 0;
  }

  async #outcomes(): Promise<ReadonlyMap<string, TaskOutcome>> {
    const { deps, hint } = this.#work;
    const read = async () =>
      new Map(
        (await deps.store.children.outcomes(hint.agent, hint.runId, this.#wanted)).map((e) => [e.runId, e.outcome]),
      );
    this.#read ??= await read();
    return this.#read;
  }
}

/** A child as the statement makes it that records its start. */
export function planned({ log, deployed }: TickWork, child: NewChild): PlannedChild {
  const mode = deployed.agent.processes.get(child.process)?.kind === "session" ? "session" : "task";
  return { ...child, mode, codeHash: deployed.agent.codeHash, depth: depthOf(log) + 1 };
}

/**
 * Children of which perhaps no fact comes: those that were taken over from a cut part of the log may have ended before, and those that ended when this run
 * had failed told nobody.
 */
export const perhapsEnded = (runId: string, { children, over, retry }: RunHistory): string[] =>
  [...children.values()]
    .filter(({ seq }) => !over.has(seq))
    .filter(({ seq, run }) => seq < (retry?.seq ?? 0) || run !== childRunId(runId, seq))
    .map(({ run }) => run);
