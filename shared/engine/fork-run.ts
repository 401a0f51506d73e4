// A new run that begins with what another one has on record: its answers are replayed and cost nothing. What isn't copied is done again, under new keys, so
// whoever forks is told first which effects that repeats (I6b).
import type { ErrorInfo } from "../core/errors.ts";
import {
  inboxCursor,
  parseRunEvents,
  parseTaskEvents,
  type Recorded,
  type RunEvent,
  TERMINAL,
} from "../core/events.ts";
import { streamIdOf } from "../core/stream-id.ts";
import { effectiveTask } from "../core/task/replay.ts";
import { foldRun, isOperation, type RunHistory, type WavePlanned } from "../core/workflow/fold.ts";
import type { Fork, NewEvent, StreamRow } from "../ports/store.ts";
import type { EngineDeps } from "./deps.ts";
import { findPlace, type Place } from "./fork-place.ts";
import { nudge } from "./hints.ts";

export interface ForkRequest {
  readonly agent: string;
  readonly runId: string;
  /** Where it begins to differ: `w2`, `w2t0`, `w2t0/s3`, `step:NAME` or `run:PROCESS`. Left out: at the end, and what failed is done again. */
  readonly from?: string;
  /** Calls with effects outside, and steps, that the source has made may be made again. */
  readonly rerun: boolean;
  readonly by: string;
  readonly idempotencyKey?: string;
}

export type Forked =
  | { readonly type: "started" | "existing"; readonly runId: string }
  | { readonly type: "refused"; readonly error: ErrorInfo };

type ForkDeps = Pick<EngineDeps, "store" | "queue" | "agents" | "uuid" | "log">;

const refused = (code: ErrorInfo["code"], message: string): Forked => ({ type: "refused", error: { code, message } });

export async function forkRun(deps: ForkDeps, request: ForkRequest): Promise<Forked> {
  const { agent, runId: source, from, idempotencyKey = null } = request;
  const deployed = deps.agents.get(agent);
  if (deployed === null) return refused("agent.unknown", `The agent "${agent}" isn't served here.`);
  // The log before the streams: each task that it names is there then.
  const parsed = parseRunEvents(await deps.store.streams.read({ agent, runId: source, streamId: "run" }, 0));
  if (!parsed.ok) return refused("generation.older", `Run ${source} was written by a newer version of Toren.`);
  if (parsed.events.length === 0) return refused("run.unknown", `There is no run ${source}.`);
  const rows = new Map((await deps.store.runs.streams(agent, source)).map((s) => [s.streamId, s]));
  const before = foldRun(parsed.events);
  const place = from === undefined ? null : findPlace(before, from);
  if (place?.type === "unknown") return refused("fork.unknown_place", place.message);
  const cut = place?.step == null ? null : await cutBefore(deps, request, place.step);
  if (place?.step != null && cut === null)
    return refused("fork.unknown_place", `Task ${place.step.taskId} has no step ${place.step.stepId} on record.`);
  const events = eventsAfter(parsed.events, request, place, deployed.generation);
  const after = foldRun([...parsed.events, ...events]);
  const streams = copies(rows, after, place, cut);
  const again = await madeAgain(deps, request, { before, after, streams, place, rows });
  if (again.length > 0 && !request.rerun)
    return refused(
      "fork.repeats",
      `A fork ${from === undefined ? "of" : `from ${from} of`} run ${source} makes again what has effects: ${again.join(", ")}. Its keys are new, so they take effect once more. Say that you want that (--rerun, or "rerun": true), or fork from a later place.`,
    );
  const runId = deps.uuid();
  const made = await deps.store.forks.fork({
    agent,
    runId,
    source,
    generation: deployed.generation,
    codeHash: deployed.agent.codeHash,
    idempotencyKey,
    request: { fork: source, from: from ?? null },
    streams: [{ streamId: "run", head: before.head, wave: null, outcome: null }, ...streams],
    sealedSeq: before.begun.seq - 1,
    events: events.map(
      ({ type, seq: _, recordedAt: _at, ...payload }): NewEvent => ({ type, payload: payload as NewEvent["payload"] }),
    ),
    waves: wavesOf(after, streams),
  });
  if (made === null) return refused("run.unknown", `There is no run ${source}.`);
  if (!made.same)
    return refused(
      "idempotency.conflict",
      `Idempotency-Key ${idempotencyKey} was used for another request; use a new key.`,
    );
  await nudge(deps, hintsOf(agent, made.runId, streams));
  deps.log.info("run forked", { agent, runId: made.runId, source });
  return { type: made.type === "created" ? "started" : "existing", runId: made.runId };
}

type Copy = Fork["streams"][number];

const hintsOf = (agent: string, runId: string, streams: readonly Copy[]) => [
  { agent, runId, taskId: null },
  ...streams
    .filter((s) => s.outcome === null)
    .map((s) => ({ agent, runId, taskId: s.streamId.slice(streamIdOf("").length) })),
];

/** What the run's own stream says after the copy: the source's end is cut, as by a retry, and the place is open again. */
function eventsAfter(
  log: readonly Recorded<RunEvent>[],
  { runId, by }: ForkRequest,
  place: (Place & { type: "found" }) | null,
  generation: number,
): Recorded<RunEvent>[] {
  const last = log.at(-1);
  const head = last?.seq ?? 0;
  const recordedAt = last?.recordedAt ?? 0;
  const fromSeq = last !== undefined && TERMINAL.has(last.type) ? head : head + 1;
  const upTo = inboxCursor(
    log.map(({ seq, type, recordedAt: at, ...payload }) => ({ seq, type, payload, recordedAt: at })),
  );
  const forked: RunEvent = {
    type: "StreamInvalidated",
    fromSeq,
    reason: "fork",
    generation,
    retry: { by, upTo },
    fork: runId,
  };
  const events: RunEvent[] =
    place === null
      ? [forked]
      : [forked, { type: "OperationReopened", op: place.op, tasks: [...place.tasks], fork: true }];
  return events.map((event, i) => ({ ...event, seq: head + 1 + i, recordedAt }));
}

/** The task's log before the question of a step; null: it has no such step. */
async function cutBefore(
  deps: ForkDeps,
  { agent, runId }: ForkRequest,
  step: { taskId: string; stepId: string },
): Promise<number | null> {
  const raw = await deps.store.streams.read({ agent, runId, streamId: streamIdOf(step.taskId) }, 0);
  const parsed = parseTaskEvents(raw);
  const asked = parsed.ok
    ? effectiveTask(parsed.events).find(
        (e) => e.type === "LlmCallStarted" && e.purpose === "step" && e.stepId === step.stepId,
      )
    : undefined;
  return asked === undefined ? null : asked.seq - 1;
}

/** Tasks of the plans that stand, as the fork has them: those that ended stay so, those of the place begin anew, the others go on. */
function copies(
  rows: ReadonlyMap<string, StreamRow>,
  after: RunHistory,
  place: (Place & { type: "found" }) | null,
  cut: number | null,
): Copy[] {
  const anew = new Set(place?.taskIds ?? []);
  return [...after.plans.values()].flatMap((plan) =>
    plan.tasks.flatMap((id): Copy[] => {
      const row = rows.get(streamIdOf(id));
      if (row === undefined) return [];
      const at = { streamId: row.streamId, wave: plan.wave };
      if (anew.has(id)) return [{ ...at, head: cut ?? 0, outcome: null }];
      return [{ ...at, head: row.headSeq, outcome: row.outcome }];
    }),
  );
}

const wavesOf = (after: RunHistory, streams: readonly Copy[]): Fork["waves"] =>
  [...after.plans.values()]
    .filter((plan) => plan.tasks.length > 0)
    .map(({ wave, onTaskFailure, maxParallel = null }) => ({
      wave,
      onTaskFailure,
      maxParallel,
      unsettled: streams.filter((s) => s.wave === wave && s.outcome === null).length,
    }));

interface Compared {
  readonly before: RunHistory;
  readonly after: RunHistory;
  readonly streams: readonly Copy[];
  readonly place: (Place & { type: "found" }) | null;
  readonly rows: ReadonlyMap<string, StreamRow>;
}

/** Effects of the source that the fork makes again, for people: calls as `task: tool`, and steps. */
async function madeAgain(
  deps: ForkDeps,
  { agent, runId }: ForkRequest,
  { before, after, streams, place, rows }: Compared,
): Promise<string[]> {
  const copied = new Map(streams.map((s) => [s.streamId, s]));
  const tasks = [...before.plans.values()].flatMap((plan: Recorded<WavePlanned>) =>
    plan.tasks.flatMap((taskId) => {
      const copy = copied.get(streamIdOf(taskId));
      const head = rows.get(streamIdOf(taskId))?.headSeq ?? 0;
      if (copy === undefined || copy.head < head) return [{ taskId, after: copy?.head ?? 0, open: false }];
      return copy.outcome === "completed" ? [] : [{ taskId, after: 0, open: true }];
    }),
  );
  const calls = await deps.store.forks.externalCalls(agent, runId, tasks);
  const stands = new Set(after.log.map((e) => e.seq));
  const steps = before.log.filter(isOperation).flatMap((e) => {
    if (e.type !== "StepStarted") return [];
    const isPlace = place !== null && e.seq === place.op;
    return stands.has(e.seq) && !isPlace && before.over.has(e.seq) ? [] : [`step ${e.name}`];
  });
  const anew = before.log.filter((e) => e.type === "ChildStarted" && !(stands.has(e.seq) && after.over.has(e.seq)));
  const runs = anew.flatMap((e) => (e.type === "ChildStarted" ? [e.run] : []));
  const below = runs.length === 0 ? [] : await deps.store.children.effects(agent, runs);
  return [...calls.map((c) => `${c.taskId}: ${c.tool}`), ...steps, ...below.map((e) => `run ${e.runId}: ${e.what}`)];
}
