// When to strike, decided from the log alone: a moment is a condition over what is recorded, never a matter of timing. Pure.

import type { RawEvent } from "../../shared/core/events.ts";
import { taskIdOf } from "../../shared/core/stream-id.ts";
import type { StreamRow } from "../../shared/ports/store.ts";

/** What the log says of one task. */
export interface TaskLog {
  readonly taskId: string;
  readonly role: string;
  readonly outcome: StreamRow["outcome"];
  /** Questions that were sent, answered or not. */
  readonly asked: number;
  /** Answers on record, those that a cut took out of use too: each was paid. */
  readonly recorded: number;
  /** Answers on record that are in use. */
  readonly inUse: number;
  /** A question is sent and its answer isn't on record. */
  readonly inFlight: boolean;
  /** Writers that took the task so far. */
  readonly writers: number;
}

/** What the whole run's log says, at one reading. */
export interface Reading {
  readonly ended: boolean;
  readonly tasks: readonly TaskLog[];
}

export type Moment =
  /** Not yet, but it may come. */
  | { readonly type: "wait" }
  | { readonly type: "now"; readonly ended: number; readonly of: number; readonly inFlight: readonly TaskLog[] }
  /** It can't come any more. */
  | { readonly type: "missed" };

const RESEARCHER = "researcher";
const WRITER = "writer";

/** Researchers that have to be recorded before the first kill, where there are enough of them. */
const RESEARCHERS_RECORDED = 2;

export function readTasks(
  streams: readonly StreamRow[],
  calls: readonly { readonly streamId: string; readonly event: RawEvent }[],
): TaskLog[] {
  const events = Map.groupBy(calls, (call) => call.streamId);
  return streams
    .filter(({ streamId }) => streamId !== "run")
    .map(({ streamId, role, outcome }) => {
      const own = (events.get(streamId) ?? []).map(({ event }) => event);
      const types = own.map(({ type }) => type);
      const count = (type: string): number => types.filter((each) => each === type).length;
      return {
        taskId: taskIdOf(streamId) ?? streamId,
        role: role ?? "?",
        outcome,
        asked: count("LlmCallStarted"),
        recorded: count("LlmCallCompleted"),
        inUse: own.filter(({ type, seq }) => type === "LlmCallCompleted" && seq < firstCutAfter(own, seq)).length,
        inFlight: outcome === null && types.findLast((type) => type.startsWith("LlmCall")) === "LlmCallStarted",
        writers: count("TaskStarted"),
      };
    });
}

/** Where a later cut begins; a cut takes everything from there on that is older than itself. */
const firstCutAfter = (events: readonly RawEvent[], seq: number): number =>
  Math.min(
    ...events
      .filter((event) => event.type === "StreamInvalidated" && event.seq > seq)
      .map(({ payload }) => Number(payload.fromSeq)),
  );

/** Two researchers are recorded (all but one, where there are fewer than three), and a call of another one is in flight that has answers to lose. */
export function researchMoment({ ended, tasks }: Reading): Moment {
  const crew = tasks.filter(({ role }) => role === RESEARCHER);
  const done = crew.filter(({ outcome }) => outcome !== null);
  if (ended || (crew.length > 0 && done.length === crew.length)) return { type: "missed" };
  const inFlight = crew.filter((task) => task.inFlight);
  const enough = done.length >= Math.min(RESEARCHERS_RECORDED, crew.length - 1);
  return enough && inFlight.some(({ recorded }) => recorded > 0)
    ? { type: "now", ended: done.length, of: crew.length, inFlight }
    : { type: "wait" };
}

/** The writer's call is in flight. */
export function writerMoment({ ended, tasks }: Reading): Moment {
  const writers = tasks.filter(({ role }) => role === WRITER);
  const done = writers.filter(({ outcome }) => outcome !== null);
  if (ended || (writers.length > 0 && done.length === writers.length)) return { type: "missed" };
  const inFlight = writers.filter((task) => task.inFlight);
  return inFlight.length > 0 ? { type: "now", ended: done.length, of: writers.length, inFlight } : { type: "wait" };
}

/** Of tasks that a dead worker left, those that a new writer has taken. */
export const resumed = (left: readonly TaskLog[], { tasks }: Reading): TaskLog[] =>
  left.filter((before) => tasks.some((task) => task.taskId === before.taskId && task.writers > before.writers));

export const askedIn = ({ tasks }: Reading): number => tasks.reduce((sum, { asked }) => sum + asked, 0);
export const recordedIn = ({ tasks }: Reading): number => tasks.reduce((sum, { recorded }) => sum + recorded, 0);
export const inUseIn = ({ tasks }: Reading): number => tasks.reduce((sum, { inUse }) => sum + inUse, 0);
