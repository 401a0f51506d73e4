// A failed run goes on from what is recorded. Whoever asks cuts the run's end, in one statement; the tick that follows finds out what failed, and has it
// done again (reopen.ts).
import type { ErrorInfo } from "../core/errors.ts";
import { type Budget, NO_BUDGET } from "../core/task/ledger.ts";
import type { RunBudget, RunRow } from "../ports/store.ts";
import type { Told } from "./cancel-run.ts";
import type { EngineDeps } from "./deps.ts";
import { nudge } from "./hints.ts";

export interface RetryRequest {
  readonly agent: string;
  readonly runId: string;
  readonly by: string;
  /** In place of what the run might use until now. Default: as it was. */
  readonly caps?: Budget;
}

const refused = (code: ErrorInfo["code"], message: string): Told => ({ type: "refused", error: { code, message } });

/** Once, however many ask at the same time: the others are told that it runs. */
export async function retryRun(
  deps: Pick<EngineDeps, "store" | "queue">,
  { agent, runId, by, caps = NO_BUDGET }: RetryRequest,
): Promise<Told> {
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return refused("run.unknown", `There is no run ${runId}.`);
  if (row.parent !== null)
    return refused(
      "run.is_a_child",
      `Run ${runId} is a child of run ${row.parent}, which has heard how it ended: \`toren jobs retry ${row.parent}\` has it go on with its parent, if that failed.`,
    );
  if (row.status !== "failed") return notFailed(row);
  const wrong = wrongCaps(row.budget, caps);
  if (wrong !== null) return refused("request.invalid", wrong);
  const streams = await deps.store.runs.streams(agent, runId);
  const open = streams.filter((s) => s.streamId !== "run" && s.status !== "ended").length;
  const head = streams.find((s) => s.streamId === "run")?.headSeq ?? 0;
  if (open > 0 || !(await deps.store.retries.retry({ agent, runId }, { head, by, caps })))
    return open > 0 ? stopping(runId, open) : await overtaken(deps, agent, runId);
  await nudge(deps, [{ agent, runId, taskId: null }]);
  return { type: "told" };
}

function notFailed({ runId, status, endedAt }: RunRow): Told {
  const instead =
    endedAt === null
      ? `it goes on by itself, or waits for somebody: \`toren jobs show ${runId}\` says what for.`
      : `\`toren jobs fork ${runId}\` starts a new run from what is recorded.`;
  return refused("run.not_failed", `Run ${runId} is ${status}, and only a failed run can be retried; ${instead}`);
}

const stopping = (runId: string, open: number): Told =>
  refused(
    "run.stopping",
    `Run ${runId} has failed, and ${open} of its tasks ${open === 1 ? "is" : "are"} still being stopped. Retry it in a moment.`,
  );

/** Somebody was quicker. */
async function overtaken(deps: Pick<EngineDeps, "store">, agent: string, runId: string): Promise<Told> {
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return refused("run.unknown", `There is no run ${runId}.`);
  return row.status === "failed" ? stopping(runId, 1) : notFailed(row);
}

/** A cap is raised, not set: what was never counted can't be held. */
function wrongCaps(budget: RunBudget | null, { totalTokens, maxCostUsd }: Budget): string | null {
  const wrong = (what: string, cap: number | null, before: number | null | undefined): string | null => {
    if (cap === null || (before != null && cap >= before)) return null;
    return before == null
      ? `The run has no cap ${what}, so there is none to raise.`
      : `The run's cap ${what} is ${before}: a retry can raise it, not lower it to ${cap}.`;
  };
  return wrong("totalTokens", totalTokens, budget?.totalTokens) ?? wrong("maxCostUsd", maxCostUsd, budget?.maxCostUsd);
}
