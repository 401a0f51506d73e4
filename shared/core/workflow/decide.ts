// What a new operation is recorded as: the values that its tick gives it (a time, a random number, a due time, a key). Recorded before anybody sees them.
import { hash } from "../digest.ts";
import type { RunEvent } from "../events.ts";
import { canonical } from "../json.ts";
import { childRunId } from "./child.ts";
import { partOf, type RunContinued } from "./continued.ts";
import type { Ending } from "./ending.ts";
import type { RunHistory } from "./fold.ts";
import type { Request, TaskRequest, WaveRequest } from "./request.ts";

/** The world as the tick sees it. */
export interface Tick {
  /** Milliseconds since 1970 by the database's clock (I8). */
  readonly now: number;
  /** Fresh for every tick: ctx.random draws from it. */
  readonly seed: string;
  /** Operations over the whole run, or the part of it that it is in; one more fails it. */
  readonly operationsMax: number;
}

/** A wave to be planned: plan.ts gives it its number, ids and claims. */
export interface WaveDecision {
  readonly type: "wave";
  readonly seq: number;
  readonly after: number;
  readonly digest: string;
  readonly name: string;
  readonly onTaskFailure: "fail" | "collect";
  readonly dueAt?: number;
  readonly maxParallel: number | null;
  readonly tasks: readonly TaskRequest[];
}
type DecidedEvent = Extract<
  RunEvent,
  {
    type:
      | "TimerSet"
      | "SignalAwaited"
      | "StepStarted"
      | "ChildStarted"
      | "NowRead"
      | "RandomRead"
      | "RunCompleted"
      | "RunFailed"
      | "RunContinued";
  }
>;
interface EventDecision {
  readonly type: "event";
  readonly seq: number;
  readonly event: DecidedEvent;
}
/** What is to be recorded next, in order. */
export type Decision = WaveDecision | EventDecision;

/** What the scheduler needs of an operation, recorded or just decided. */
export interface Known {
  readonly seq: number;
  readonly taskIds: readonly string[];
  /** Of a child. */
  readonly runId: string;
  readonly value: number | undefined;
  readonly dueAt: number | null;
  readonly idempotencyKey: string;
}

/**
 * The same for the same step through retries, resumes and cuts: by its name, and the how-manieth effective step of that name it is in the part of its run. Parts
 * count from 0.
 */
export const stepKey = (runId: string, name: string, nth: number, part = 0): string =>
  hash(canonical([runId, "step", name, nth, ...(part === 0 ? [] : [part])]));

export interface Decider {
  /** Decides an operation of the window `after`. */
  decide(request: Request, digest: string, after: number): Known;
  /** Which random number of the execution comes next: counted for recorded ones too, so that grouping of ticks doesn't show. */
  drawn(): void;
  readonly decisions: readonly Decision[];
  /** The decisions of a tick that ends the run, or goes on anew: of the operations only those that need nobody outside, renumbered (S7). */
  ended(ending: Ending | RunContinued): Decision[];
}

export function createDecider(runId: string, history: RunHistory, tick: Tick): Decider {
  const decisions: Decision[] = [];
  const dueTimesTaken = new Map<string, number>();
  const stepsOfName = new Map<string, number>();
  for (const event of history.log) if (event.type === "StepStarted") counted(stepsOfName, event.name);
  const nowMs = Math.floor(tick.now);
  const part = partOf(history);
  let draws = 0;

  /** A timer that was cut and is set again keeps its time: equal ones in their order. */
  const dueAt = (digest: string, fresh: number): number =>
    history.spareDueTimes.get(digest)?.[counted(dueTimesTaken, digest)] ?? Math.ceil(fresh);

  const eventOf = (
    request: Exclude<Request, { type: "wave" }>,
    digest: string,
    after: number,
    seq: number,
  ): DecidedEvent => {
    const at = { after, digest };
    switch (request.type) {
      case "sleep":
        return { type: "TimerSet", ...at, ms: request.ms, dueAt: dueAt(digest, tick.now + request.ms) };
      case "sleepUntil":
        return { type: "TimerSet", ...at, until: request.until, dueAt: dueAt(digest, request.until) };
      case "signal": {
        const due = request.timeoutMs === undefined ? {} : { dueAt: Math.ceil(tick.now + request.timeoutMs) };
        return { type: "SignalAwaited", ...at, signal: request.signal, ...due };
      }
      case "step": {
        const nth = counted(stepsOfName, request.name);
        return {
          type: "StepStarted",
          ...at,
          name: request.name,
          idempotencyKey: stepKey(runId, request.name, nth, part),
        };
      }
      case "child": {
        const { process, input } = request;
        return { type: "ChildStarted", ...at, process, input, run: childRunId(runId, seq) };
      }
      case "now":
        return { type: "NowRead", ...at, value: nowMs };
      case "random":
        return { type: "RandomRead", ...at, value: fraction(tick.seed, draws) };
    }
  };

  return {
    decisions,
    drawn: () => {
      draws++;
    },
    decide: (request, digest, after) => {
      const seq = history.head + decisions.length + 1;
      if (request.type === "wave") {
        const wave = waveOf(request, { seq, after, digest }, tick.now);
        decisions.push(wave);
        return { seq, taskIds: [], runId: "", value: undefined, dueAt: wave.dueAt ?? null, idempotencyKey: "" };
      }
      const event = eventOf(request, digest, after, seq);
      decisions.push({ type: "event", seq, event });
      return knownOf(seq, event);
    },
    ended: (ending) => {
      const seqs = new Map<number, number>();
      const kept = decisions.filter(isAlone);
      for (const [i, decision] of kept.entries()) seqs.set(decision.seq, history.head + i + 1);
      const moved = kept.map((decision) => move(decision, seqs));
      return [...moved, { type: "event", seq: history.head + kept.length + 1, event: ending }];
    },
  };
}

function waveOf(
  { name, onTaskFailure, maxParallel, tasks, timeoutMs }: WaveRequest,
  at: Pick<WaveDecision, "seq" | "after" | "digest">,
  now: number,
): WaveDecision {
  const due = timeoutMs === undefined ? {} : { dueAt: Math.ceil(now + timeoutMs) };
  return { type: "wave", ...at, name, onTaskFailure, maxParallel, tasks, ...due };
}

export function knownOf(seq: number, event: RunEvent): Known {
  return {
    seq,
    taskIds: event.type === "WavePlanned" ? event.tasks : [],
    runId: event.type === "ChildStarted" ? event.run : "",
    value: event.type === "NowRead" || event.type === "RandomRead" ? event.value : undefined,
    dueAt: ("dueAt" in event ? event.dueAt : undefined) ?? null,
    idempotencyKey: event.type === "StepStarted" ? event.idempotencyKey : "",
  };
}

/** Reads and empty waves complete by themselves, and so do waits for signals that are here already. */
const isAlone = (decision: Decision): boolean =>
  decision.type === "wave"
    ? decision.tasks.length === 0
    : "value" in decision.event || decision.event.type === "SignalAwaited";

/** Waves that are recorded although the tick ends the run. */
export const emptyWaves = (decisions: readonly Decision[]): number =>
  decisions.filter((decision) => decision.type === "wave" && isAlone(decision)).length;

function move(decision: Decision, seqs: ReadonlyMap<number, number>): Decision {
  const to = (seq: number): number => seqs.get(seq) ?? seq;
  if (decision.type === "wave") return { ...decision, seq: to(decision.seq), after: to(decision.after) };
  const { event } = decision;
  return {
    type: "event",
    seq: to(decision.seq),
    event: "after" in event ? { ...event, after: to(event.after) } : event,
  };
}

/** Counts one more of the key, and says how many there were before. */
function counted(counts: Map<string, number>, key: string): number {
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  return before;
}

/** In [0, 1), of 48 bits. */
const fraction = (seed: string, nth: number): number =>
  Buffer.from(hash(`${seed}:${nth}`), "base64url").readUIntBE(0, 6) / 2 ** 48;
