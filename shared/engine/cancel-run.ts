// Cancelling is a fact (I3: the writer aborts, records what it knows, and ends the stream itself). The run's writer cancels its tasks.
import type { ErrorInfo } from "../core/errors.ts";
import type { EngineDeps } from "./deps.ts";
import { nudge } from "./hints.ts";
import { redactedText } from "./redact.ts";

export type Told = { readonly type: "told" } | { readonly type: "refused"; readonly error: ErrorInfo };

const ended = (runId: string): Told => ({
  type: "refused",
  error: { code: "run.ended", message: `Run ${runId} has ended already; nothing was changed.` },
});
const unknown = (runId: string): Told => ({
  type: "refused",
  error: { code: "run.unknown", message: `There is no run ${runId}.` },
});

/** Idempotent: a second cancel of a run that hasn't ended yet changes nothing. */
export async function cancelRun(
  deps: EngineDeps,
  run: { agent: string; runId: string; reason: string },
): Promise<Told> {
  const { agent, runId } = run;
  const deployed = deps.agents.get(agent);
  const what = { kind: "comment", name: null } as const;
  const reason = deployed === null ? null : redactedText(deployed.agent, run.reason, what);
  // A run must be stoppable whatever becomes of the words about it.
  const said = run.reason === "" ? "" : reason?.ok ? reason.text : "(not recorded)";
  const fact = { kind: "cancel", reason: said, code: "run.cancelled" } as const;
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return unknown(runId);
  const key = row.retries === 0 ? "cancel" : `cancel:${row.retries}`; // one of before a retry is void
  const delivered = await deps.store.streams.deliver({ agent, runId, streamId: "run" }, key, fact);
  if (delivered.type === "ended") return ended(runId);
  // A second cancel of a run that the first one has ended meanwhile.
  if (delivered.type === "duplicate" && (await deps.store.runs.get(agent, runId))?.endedAt != null) return ended(runId);
  if (delivered.type === "missing") return unknown(runId);
  await nudge(deps, [{ agent, runId, taskId: null }]); // also for one that is running: its writer looks at its inbox
  return { type: "told" };
}

/** Has somebody look again now: what is parked on a decision or a time re-checks its reasons (a reverted edit, say). */
export async function resumeRun(deps: EngineDeps, run: { agent: string; runId: string }): Promise<Told> {
  const { agent, runId } = run;
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return unknown(runId);
  if (row.endedAt !== null) return ended(runId);
  const open = await deps.store.tasks.open(agent, runId);
  await nudge(deps, [
    { agent, runId, taskId: null },
    ...open.filter((t) => t.wait !== "claim").map((t) => ({ agent, runId, taskId: t.taskId })),
  ]);
  return { type: "told" };
}
