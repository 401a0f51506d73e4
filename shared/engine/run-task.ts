// One task, from wherever its log stands, until it ends, parks, or is handed on. Reads top-down: take the stream, replay it against today's code,
// then decide (core/task/loop.ts), record, act, in turns. I4: what is known together shares an append; an effect begins after its start is durable.
import type { ErrorInfo } from "../core/errors.ts";
import { inboxCursor, parseTaskEvents, type Recorded, type TaskEvent } from "../core/events.ts";
import { DEFER_MS } from "../core/limits.ts";
import { type Header, headerOf } from "../core/task/header.ts";
import { nextAction } from "../core/task/loop.ts";
import { replay } from "../core/task/replay.ts";
import type { Deployed } from "../ports/agents.ts";
import type { Hint } from "../ports/queue.ts";
import type { Lease, TaskSpec } from "../ports/store.ts";
import { cutRequest } from "./cut-request.ts";
import { cutsByThisGeneration, stormProblem } from "./cut-storm.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { streamOf } from "./hints.ts";
import { keepHeader } from "./request-headers.ts";
import { isHeld, type Standing, standingAfter, standingOf } from "./standing.ts";
import { createStreamWriter, giveUp, type StreamWriter } from "./stream-writer.ts";
import { giveBack, leaveToNewer, stepBack, takeStream } from "./take-stream.ts";
import { askStep, toolStep } from "./task-steps.ts";
import {
  checkOf,
  end,
  endCancelled,
  endFailed,
  handOver,
  mustHandOver,
  park,
  type TaskWork,
  taskWork,
} from "./task-work.ts";

/** Works on a task. Every outcome acknowledges the hint. @throws TorenError `database.unavailable`: the hint comes again. */
export async function runTask(
  deps: EngineDeps,
  hint: Hint & { readonly taskId: string },
  at: Circumstances,
): Promise<Worked> {
  const taken = await takeStream(deps, hint, at);
  if (taken.type === "not") return taken.worked;
  const { lease, deployed } = taken;
  const stream = streamOf(hint);
  const [raw, spec] = await Promise.all([deps.store.streams.read(stream, 0), deps.store.tasks.spec(stream)]);
  if (spec === null) return "missing";
  const parsed = parseTaskEvents(raw);
  if (!parsed.ok) return await leaveToNewer(deps, hint, lease, parsed);
  const writer = createStreamWriter(deps, lease, lease.head, inboxCursor(raw));
  try {
    return await resume(deps, hint, at, {
      lease,
      deployed,
      spec,
      log: parsed.events,
      writer,
      crashLoop: taken.crashLoop,
    });
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
  readonly log: readonly Recorded<TaskEvent>[];
  readonly writer: StreamWriter;
  readonly crashLoop: ErrorInfo | null;
}

/** From the log to a live loop: the one place where a cut is decided (I6, I6b, I7). */
async function resume(
  deps: EngineDeps,
  hint: Hint & { readonly taskId: string },
  at: Circumstances,
  found: Found,
): Promise<Worked> {
  const { deployed, spec, writer } = found;
  const role = deployed.agent.roles.get(spec.role);
  if (found.crashLoop !== null) return await endFailed(deps, hint, writer, found.crashLoop);
  if (role === undefined) {
    const known = [...deployed.agent.roles.keys()].join(", ");
    return await endFailed(deps, hint, writer, {
      code: "role.unknown",
      message: `The agent has no role "${spec.role}"; its roles are: ${known}.`,
    });
  }
  const header = headerOf(role);
  const check = checkOf(role);
  let log = found.log;
  let standing = await standingOf(deps.store.streams, found.lease.stream, log, writer.absorbed);
  let replayed = replay(header, check, spec.input, log);
  if (replayed.type === "mismatch") {
    const told = await takeFacts(deps, hint, writer, standing); // before anything waits: a task that needs a decision hears a cancel too
    if (told.ended !== null) return told.ended;
    standing = told.standing;
    const refused = await refuseCut(deps, hint, found, replayed);
    if (refused !== null) return refused;
    const cut = {
      type: "StreamInvalidated",
      fromSeq: replayed.fromSeq,
      reason: replayed.reason,
      generation: deployed.generation,
    } as const;
    log = [...log, { ...cut, seq: writer.buffer(cut), recordedAt: found.lease.now }];
    replayed = replay(header, check, spec.input, log);
    if (replayed.type === "mismatch") throw new Error(`a cut left a contradiction: ${replayed.reason}`);
  }
  return await loop(taskWork(deps, hint, at, found, role, replayed.state), header, log, standing);
}

/** Takes in what the inbox holds (I3): a cancel ends the task, the others say whether it is held. */
async function takeFacts(
  deps: EngineDeps,
  hint: Hint,
  writer: StreamWriter,
  before: Standing,
): Promise<{ readonly ended: Worked | null; readonly standing: Standing }> {
  let standing = before;
  for (const { seq, fact } of await writer.facts()) {
    if (fact.kind === "cancel") {
      const ended = await endCancelled(deps, hint, writer, seq, { code: fact.code, message: fact.reason });
      return { ended, standing };
    }
    standing = standingAfter(standing, fact);
    writer.buffer({ type: "FactIgnored", inboxSeq: seq, reason: REASONS[fact.kind] });
  }
  return { ended: null, standing };
}

const REASONS = { hold: "its plan was cut", claim: "claimed by a plan", wave: "concerns no task" } as const;

/** Null: the cut may be made. */
async function refuseCut(
  deps: EngineDeps,
  hint: Hint,
  found: Found,
  cut: { fromSeq: number; reason: string; calls: readonly string[] },
): Promise<Worked | null> {
  const { log, writer, deployed } = found;
  if (cut.calls.length > 0) {
    const request = cutRequest(log, cut, deployed.generation, cut.calls);
    if (request !== null) writer.buffer({ ...request });
    return await park(deps, hint, writer, "cut");
  }
  if (cutsByThisGeneration(log, deployed.generation, found.lease.now) === null) return null;
  await giveBack(deps, found.lease, DEFER_MS);
  await stepBack(deps, hint, stormProblem(cut.reason));
  return "deferred";
}

async function loop(
  work: TaskWork,
  header: Header,
  log: readonly Recorded<TaskEvent>[],
  before: Standing,
): Promise<Worked> {
  const { deps, hint, writer, state } = work;
  let standing = before;
  let announced = false;
  for (;;) {
    const told = await takeFacts(deps, hint, writer, standing);
    if (told.ended !== null) return told.ended;
    standing = told.standing;
    if (isHeld(standing)) {
      const worked = await park(deps, hint, writer, "claim");
      if (worked === "parked") return worked;
      continue; // a fact came: perhaps the claim
    }
    const action = nextAction(state, { maxSteps: work.role.maxSteps, totalTokens: work.role.totalTokens });
    if ((action.type === "ask" || action.type === "tools") && mustHandOver(work)) return await handOver(work);
    if (!announced) {
      await keepHeader(deps.store.tasks, hint.agent, header);
      const attempt = log.filter((e) => e.type === "TaskStarted").length + 1;
      work.record({ type: "TaskStarted", attempt, specDigest: header.digest, parts: { ...header.parts } });
      announced = true;
    }
    switch (action.type) {
      case "ask": {
        const worked = await askStep(work, action);
        if (worked !== null) return worked;
        break;
      }
      case "tools": {
        const worked = await toolStep(work, action);
        if (worked !== null) return worked;
        break;
      }
      case "complete":
        writer.buffer({
          type: "TaskCompleted",
          result: action.result,
          ...(action.truncated ? { truncated: true } : {}),
        });
        return await end(deps, hint, writer, { status: "completed", output: action.result });
      case "fail":
        return await work.fail(action.error);
      case "ended":
        return "terminal";
    }
  }
}
