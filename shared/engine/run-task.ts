// One task, from wherever its log stands, until it ends, parks, or is handed on. Reads top-down: take the stream, replay it against today's code,
// then decide (core/task/loop.ts), record, act, in turns. I4: what is known together shares an append; an effect begins after its start is durable.
import type { ErrorInfo } from "../core/errors.ts";
import { inboxCursor, parseTaskEvents, type Recorded, type TaskEvent } from "../core/events.ts";
import { DEFER_MS } from "../core/limits.ts";
import { headerOf } from "../core/task/header.ts";
import { type Action, type Caps, nextAction } from "../core/task/loop.ts";
import { type Replayed, replay } from "../core/task/replay.ts";
import type { Snapshot } from "../core/task/snapshot.ts";
import type { TaskState } from "../core/task/task-state.ts";
import type { Deployed, RoleDefinition } from "../ports/agents.ts";
import type { Gate } from "../ports/flow.ts";
import type { Lease, TaskSpec } from "../ports/store.ts";
import { askStep } from "./ask-step.ts";
import { cutRequest, isCutAsked, mayCut } from "./cut-request.ts";
import { cutsByThisGeneration, stormProblem } from "./cut-storm.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { agentGate, enterGates, leaveGates, modelGate, waveGate } from "./gates.ts";
import { handOver, isTooLong, mustHandOver, TOO_LONG } from "./hand-over.ts";
import { nudge } from "./hints.ts";
import { parkStream } from "./park-stream.ts";
import { keepHeader } from "./request-headers.ts";
import { isHeld, type Standing, standingAfter, standingOf } from "./standing.ts";
import { createStreamWriter, giveUp, type StreamWriter } from "./stream-writer.ts";
import {
  giveBack,
  laneElsewhere,
  leaveSealed,
  leaveToNewer,
  moveTo,
  readOrGiveBack,
  stepBack,
  takeStream,
} from "./take-stream.ts";
import { absorbed, retriedUpTo } from "./task-facts.ts";
import { readTask, waitForInput } from "./task-snapshot.ts";
import { toolStep } from "./task-steps.ts";
import { checkOf, endCancelled, ended, endFailed, type TaskHint, type TaskWork, taskWork } from "./task-work.ts";

/** Works on a task. Every outcome acknowledges the hint. @throws TorenError `database.unavailable`: the hint comes again. */
export const runTask = (deps: EngineDeps, hint: TaskHint, at: Circumstances): Promise<Worked> =>
  task(deps, hint, at).catch((thrown) => leaveSealed(deps, hint, thrown));

async function task(deps: EngineDeps, hint: TaskHint, at: Circumstances): Promise<Worked> {
  const taken = await takeStream(deps, hint, at);
  if (taken.type === "not") return taken.worked;
  const { lease, deployed } = taken;
  if (taken.crashLoop !== null) return await endUnread(deps, hint, lease, taken.crashLoop);
  const { raw, spec, snapshot } = await readOrGiveBack(deps, lease, () => readTask(deps.store, lease));
  if (spec === null) return await endUnread(deps, hint, lease, NO_SPEC);
  const parsed = parseTaskEvents(raw);
  if (!parsed.ok) return await leaveToNewer(deps, hint, lease, parsed);
  const writer = createStreamWriter(deps, lease, lease.head, Math.max(snapshot?.absorbed ?? 0, inboxCursor(raw)));
  try {
    const worked = await resume(deps, hint, at, {
      lease,
      deployed,
      spec,
      log: parsed.events,
      snapshot,
      writer,
    });
    if (worked === "ended") await leaveGates(deps, lease.stream, gatesOf(deployed, hint, spec)); // its turns too, or others wait for the dead
    return worked;
  } catch (thrown) {
    return await giveUp(thrown, writer, (error) => endFailed(deps, hint, writer, error));
  } finally {
    writer.close();
  }
}

interface Found {
  readonly lease: Lease;
  readonly deployed: Deployed;
  readonly spec: TaskSpec;
  /** All of it, or what came after the snapshot. */
  readonly log: readonly Recorded<TaskEvent>[];
  readonly snapshot: Snapshot | null;
  readonly writer: StreamWriter;
}

const NO_SPEC: ErrorInfo = { code: "bug", message: "The task has a stream, and nothing says what it is to do." };

/** Its log may be what kills the worker: a stream that is given up is ended without a look into it. */
async function endUnread(deps: EngineDeps, hint: TaskHint, lease: Lease, error: ErrorInfo): Promise<Worked> {
  const writer = createStreamWriter(deps, lease, lease.head, lease.inboxSeq);
  try {
    return await endFailed(deps, hint, writer, error);
  } catch (thrown) {
    return await giveUp(thrown, writer, (again) => endFailed(deps, hint, writer, again));
  } finally {
    writer.close();
  }
}

/** From the log to a live loop: the one place where a cut is decided (I6, I6b, I7). */
async function resume(deps: EngineDeps, hint: TaskHint, at: Circumstances, found: Found): Promise<Worked> {
  const { deployed, spec, writer, lease } = found;
  const role = deployed.agent.roles.get(spec.role);
  if (role === undefined) {
    const known = [...deployed.agent.roles.keys()].join(", ");
    const message = `The agent has no role "${spec.role}"; its roles are: ${known}.`;
    return await endFailed(deps, hint, writer, { code: "role.unknown", message });
  }
  const elsewhere = laneElsewhere(role, at);
  if (elsewhere !== null) return await moveTo(deps, hint, lease, elsewhere);
  const log: Recorded<TaskEvent>[] = [...found.log];
  const note = (event: TaskEvent): void =>
    void log.push({ ...event, seq: writer.buffer(event), recordedAt: lease.now });
  let standing = await standingOf(deps.store.streams, lease.stream, log, writer.absorbed);
  const retried = retriedUpTo(log);
  for (const item of await writer.facts()) {
    standing = standingAfter(standing, item.fact);
    const about = { session: spec.session, cutAsked: isCutAsked(log, item.key), retriedUpTo: retried };
    const heard = absorbed(item, about);
    if (heard.type === "cancel") return await endCancelled(deps, hint, writer, heard.inboxSeq, heard.error);
    note(heard.event);
  }
  const header = headerOf(role, spec.session);
  const read = (): Replayed => replay(header, checkOf(role), spec.input, log, spec.session, found.snapshot);
  let replayed = read();
  if (replayed.type === "mismatch") {
    const refused = await refuseCut(deps, hint, { ...found, log }, role, replayed);
    if (refused !== null) return refused;
    note({
      type: "StreamInvalidated",
      fromSeq: replayed.fromSeq,
      reason: replayed.reason,
      generation: deployed.generation,
    });
    replayed = read();
    if (replayed.type === "mismatch") throw new Error(`a cut left a contradiction: ${replayed.reason}`);
  }
  return await loop(taskWork(deps, hint, at, found, role, replayed.state), standing);
}

/** Null: the cut may be made. */
async function refuseCut(
  deps: EngineDeps,
  hint: TaskHint,
  found: Found,
  { onUnknownOutcome }: RoleDefinition,
  cut: Replayed & { type: "mismatch" },
): Promise<Worked | null> {
  const { log, writer, deployed } = found;
  const { fromSeq, reason } = cut;
  const { generation } = deployed;
  // A role that is careful about unknown outcomes is asked for calls under way too: an edit must not be the way around its question.
  const calls = onUnknownOutcome === "retry" ? cut.calls : [...cut.calls, ...cut.begun];
  if (calls.length > 0 && !mayCut(log, fromSeq, generation)) {
    const request = cutRequest(log, cut, generation, { calls, price: cut.price });
    if (request !== null) writer.buffer({ ...request });
    const parked = await parkStream({ deps, hint, writer }, "cut");
    if (parked !== null) return parked;
    await writer.flush({ type: "release", afterMs: 0 }); // a fact came: perhaps the decision
    await nudge(deps, [hint]);
    return "handedOver";
  }
  if (cutsByThisGeneration(log, generation, found.lease.now) === null) return null;
  await giveBack(deps, found.lease, DEFER_MS);
  await stepBack(deps, hint, stormProblem(reason));
  return "deferred";
}

/** What takes a place among the tasks that are worked on, until the stream is let go of. */
async function loop(work: TaskWork, before: Standing): Promise<Worked> {
  const { deps, hint, spec, deployed, writer } = work;
  const gates = placesOf(deployed, hint, spec);
  const place = { taken: false };
  let worked: Worked | null = null;
  try {
    worked = await turns(work, before, gates, place);
    return worked;
  } finally {
    work.close();
    // Whoever waits there keeps its turn; a task that has ended leaves all of its gates at once, in runTask.
    if (place.taken && worked !== "ended") await leaveGates(deps, writer.lease.stream, gates);
  }
}

const placesOf = ({ agent }: Deployed, { runId }: TaskHint, { wave }: TaskSpec): Gate[] =>
  [waveGate(runId, wave), agentGate(agent)].filter((gate) => gate !== null);

/** With that of its role's model. */
function gatesOf(deployed: Deployed, hint: TaskHint, spec: TaskSpec): Gate[] {
  const { roles, models } = deployed.agent;
  const model = roles.get(spec.role)?.model;
  const places = placesOf(deployed, hint, spec);
  return model === undefined ? places : [...places, modelGate(model, models.get(model), 0)];
}

const works = ({ type }: Action): boolean => type === "ask" || type === "tools";

async function turns(
  work: TaskWork,
  before: Standing,
  gates: readonly Gate[],
  place: { taken: boolean },
): Promise<Worked> {
  const { writer, state, role, spec } = work;
  const { header } = state;
  const attempt = state.attempts + 1;
  let standing = before;
  let announced = false;
  /** What this invocation had left when its last step began. */
  let hadMs = 0;
  const caps: Caps = {
    maxSteps: role.maxSteps,
    budget: { totalTokens: role.totalTokens, maxCostUsd: role.maxCostUsd },
    runBudget: spec.budget,
    rates: work.facts.price,
    contextWindow: work.facts.contextWindow,
  };
  for (;;) {
    if (spec.session) writer.expect(); // somebody may want to steer: one small read a step
    for (const item of await writer.facts()) {
      const heard = absorbed(item, { session: spec.session, cutAsked: false, retriedUpTo: 0 });
      if (heard.type === "cancel") return await endCancelled(work.deps, work.hint, writer, heard.inboxSeq, heard.error);
      standing = standingAfter(standing, item.fact);
      work.record(heard.event);
    }
    if (isHeld(standing)) {
      const parked = await parkStream(work, "claim");
      if (parked !== null) return parked;
      continue; // a fact came: perhaps the claim
    }
    const action = nextAction(state, caps);
    if (works(action)) {
      if (isTooLong(work, hadMs)) return await endFailed(work.deps, work.hint, writer, TOO_LONG);
      if (mustHandOver(work)) return await handOver(work, role.lane);
      hadMs = work.at.remainingMs();
    }
    if (!place.taken && gates.length > 0 && works(action)) {
      const waiting = await enterGates(work.deps, writer.lease.stream, gates);
      const parked = waiting === null ? null : await parkStream(work, "retry", waiting.wake);
      if (parked !== null) return parked;
      if (waiting !== null) continue; // a fact came
      place.taken = true;
    }
    if (!announced && action.type !== "wait") {
      await keepHeader(work.deps.store.tasks, work.hint.agent, header);
      work.record({ type: "TaskStarted", attempt, specDigest: header.digest, parts: { ...header.parts } });
      if (attempt > 1) writer.replayed(usedAgain(state));
      announced = true;
    }
    const worked = await carryOut(work, action);
    if (worked !== null) return worked;
  }
}

/** Recorded answers that stand in place of questions: of a session those of this turn, since what was shown is history (I6a). */
const usedAgain = ({ session, turnSteps, steps, summaryCalls }: TaskState): number =>
  session === null ? steps + summaryCalls : turnSteps;

/** Null: the loop goes on. */
async function carryOut(work: TaskWork, action: Action): Promise<Worked | null> {
  switch (action.type) {
    case "ask":
      return await askStep(work, action);
    case "tools":
      return await toolStep(work, action);
    case "record":
      work.record(action.event);
      return null;
    case "show":
      work.record({ type: "InputRequested", text: action.text });
      return null; // messages that came meanwhile begin the next turn; else it waits
    case "wait":
      return await waitForInput(work);
    case "complete":
      return await complete(work, action);
    case "fail":
      return await work.fail(action.error);
    case "ended":
      return "terminal";
  }
}

/** A session ends only if nothing more was said to it meanwhile; null: something was. */
async function complete(work: TaskWork, { result, truncated }: Action & { type: "complete" }): Promise<Worked | null> {
  const { deps, hint, writer, spec } = work;
  const completed: TaskEvent = { type: "TaskCompleted", result, ...(truncated ? { truncated } : {}) };
  const absorbedFacts = spec.session ? { absorbed: writer.absorbed } : {};
  const answer = await writer.tryFlush(completed, {
    type: "end",
    outcome: { status: "completed", output: result },
    ...absorbedFacts,
  });
  return answer.type === "ok" ? await ended(deps, hint, answer) : null;
}
