// What the simulation knows beyond the log: which question went out with which prompt, that its scripts never make the same call twice, and what was
// done outside and when.
import { LEASE_MS } from "../../shared/core/limits.ts";
import type { EventDump, RunDump } from "../support/log-checker.ts";
import { effectiveRun } from "../support/log-checker-run.ts";
import { effectiveEvents } from "../support/log-checker-task.ts";
import type { Run } from "./database.ts";
import type { Effect, Entry } from "./provider.ts";
import type { World } from "./world.ts";

export function checkQuestions(dump: readonly RunDump[], ledger: readonly Entry[]): string[] {
  const systems = new Map(ledger.map((entry) => [entry.digest, entry.system]));
  return dump.flatMap((run) =>
    run.streams.flatMap(({ streamId, events }) => [
      ...onePrompt(effectiveEvents(events), systems).map((what) => `${streamId}: ${what}`),
      ...oneKey(events).map((what) => `${streamId}: ${what}`),
    ]),
  );
}

/** I6: what stands after the cuts was all asked with one prompt. */
function onePrompt(events: readonly EventDump[], systems: ReadonlyMap<string, string>): string[] {
  const asked = events.flatMap((e) =>
    e.type === "LlmCallStarted" ? (systems.get(String(e.payload.requestDigest)) ?? []) : [],
  );
  const different = new Set(asked);
  return different.size > 1 ? [`I6: one conversation was led with ${[...different].join(" and with ")}`] : [];
}

/** The same call has the same key through retries, resumes and cuts. */
function oneKey(events: readonly EventDump[]): string[] {
  const keys = new Map<string, unknown>();
  return events.flatMap(({ type, payload }) => {
    if (type !== "ToolCallStarted") return [];
    const call = `${String(payload.tool)} ${JSON.stringify(payload.args)}`;
    const known = keys.get(call) ?? payload.idempotencyKey;
    keys.set(call, known);
    return known === payload.idempotencyKey ? [] : [`${call} has two keys`];
  });
}

/** I6b: what a run plans anew, while a task that can't be repeated is in no plan any more, somebody has decided about. */
export function checkPlans(run: Run): string[] {
  const raw = run.events.get("run") ?? [];
  const givenUp = new Set(raw.flatMap((e) => (e.type === "TasksGivenUp" ? (e.payload.tasks as string[]) : [])));
  return raw.flatMap((plan, at) => {
    const { wave, tasks } = plan.payload as { wave: number; tasks: string[] };
    if (plan.type !== "WavePlanned" || !tasks.some((id) => id.startsWith(`w${wave}t`))) return [];
    const begun = raw.findLastIndex((e, i) => e.type === "RunContinued" && i < at);
    const before = raw.slice(Math.max(0, begun), at + 1); // what its earlier parts have done is nobody's question
    const held = new Set(effectiveRun(before).flatMap(tasksOf));
    const dropped = new Set(before.flatMap(tasksOf).filter((id) => !held.has(id) && !givenUp.has(id)));
    const asked = before.findLast((e) => e.type === "CutDecided");
    const since = before.filter((e) => e.seq > (asked?.seq ?? 0) && e.type === "WavePlanned");
    const kept = asked?.payload.decision === "keep" && since.every((e) => e.recordedAt === plan.recordedAt); // one round
    const unseen = kept ? undefined : [...dropped].find((id) => hasActed(run, id, plan.recordedAt - LOOKED_MS));
    return unseen === undefined ? [] : [`I6b: wave ${wave} is planned, and nobody was asked about ${unseen}`];
  });
}
/** What a task does between the look of a tick and its append can't be seen: no longer than its lease. */
const LOOKED_MS = 2 * LEASE_MS;
const tasksOf = ({ type, payload }: EventDump): string[] => (type === "WavePlanned" ? (payload.tasks as string[]) : []);

function hasActed(run: Run, taskId: string, before: number): boolean {
  const log = (run.events.get(`task:${taskId}`) ?? []).filter((e) => e.recordedAt < before);
  const ended = new Set(log.flatMap((e) => (e.type === "ToolCallCompleted" ? [e.payload.toolUseId] : [])));
  return log.some(
    ({ type, payload }) =>
      type === "ToolCallStarted" &&
      payload.effects === "external" &&
      payload.idempotency === "none" &&
      ended.has(payload.toolUseId),
  );
}

/** Under `onUnknownOutcome: ask` a call without a key is made no oftener than its log says that it began. */
export function checkMade(runs: readonly Run[], unkeyed: readonly Effect[]): string[] {
  const name = (tool: unknown, args: unknown): string => `${String(tool)} ${JSON.stringify(args)}`;
  const begun = new Map<string, number>();
  for (const { type, payload } of runs.flatMap((run) => [...run.events.values()].flat()))
    if (type === "ToolCallStarted") count(begun, name(payload.tool, payload.args));
  const made = new Map<string, number>();
  for (const { tool, args } of unkeyed) count(made, name(tool, args));
  return [...made].flatMap(([call, n]) =>
    n <= (begun.get(call) ?? 0) ? [] : [`${call} was made ${n} times and began ${begun.get(call) ?? 0} times`],
  );
}

/**
 * No more questions are under way than the provider takes at once. A place outlives its worker by a lease at most, and so does not always what it asked:
 * what counts are young questions of workers that live, while none of them has stood still.
 */
export function checkBounds({ program, provider, workers, scheduler, lostTimeAt }: World, asked: Entry): string[] {
  const most = program.bounds?.inFlight;
  if (most === undefined || scheduler.frozen.size > 0 || lostTimeAt > asked.askedAt - 2 * LEASE_MS) return [];
  const alive = new Set(workers.map((w) => w.owner));
  const young = asked.askedAt - LEASE_MS / 2;
  const underWay = provider.ledger.filter((e) => !e.over && alive.has(e.owner) && e.askedAt > young);
  return underWay.length <= most ? [] : [`${underWay.length} questions are under way, ${most} is the most`];
}
const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
