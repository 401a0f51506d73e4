// When a worker may be killed, decided from the run's log alone. Pure. A life that leaves nothing on record would be followed by another such life, for ever, and
// a task that dies again and again without getting on is failed by the engine, rightly: so every blow waits until what earlier ones hit has got on.
import type { PageEvent } from "../../shared/http/events-page.ts";

export type Logged = Pick<PageEvent, "stream" | "seq" | "type" | "payload">;

export interface Standing {
  /** Calls and steps that have begun and not ended: their streams, by the call. */
  readonly open: ReadonlyMap<string, string>;
  /** Of each stream: deaths since it last recorded what came of anything. */
  readonly hits: ReadonlyMap<string, number>;
}

const BEGUN = /^(LlmCall|ToolCall|Step)Started$/;
const ENDED = /^(LlmCall|ToolCall|Step)(Completed|Failed)$/;

/** `deaths`: how long the log was at each. */
export function standing(log: readonly Logged[], deaths: readonly number[]): Standing {
  const open = new Map<string, string>();
  const hits = new Map<string, number>();
  for (let at = 0; at <= log.length; at++) {
    for (const _ of deaths.filter((death) => death === at))
      for (const stream of new Set(open.values())) hits.set(stream, (hits.get(stream) ?? 0) + 1);
    const event = log[at];
    if (event === undefined) break;
    const { stream, type } = event;
    if (type === "TaskStarted") for (const call of callsOf(open, stream)) open.delete(call); // what was open died with the writer before
    if (BEGUN.test(type)) open.set(callOf(event), stream);
    if (ENDED.test(type)) {
      open.delete(callOf(event));
      hits.delete(stream);
    }
  }
  return { open, hits };
}

const callsOf = (open: ReadonlyMap<string, string>, stream: string): string[] =>
  [...open].filter(([, of]) => of === stream).map(([call]) => call);

/** A workflow's step is known by the number of the event that began it, a task's call by its step, and a tool's use in it. */
function callOf({ stream, seq, type, payload }: Logged): string {
  const { op, stepId = "", toolUseId = "" } = payload as { op?: number; stepId?: string; toolUseId?: string };
  return type.startsWith("Step") ? `${stream} ${op ?? seq}` : `${stream} ${stepId} ${toolUseId}`;
}

/** Hits in a row that no task has to bear more of. The engine gives up after six: CRASHES_BEFORE_SOLO and CRASHES_ALONE_MAX. */
const HITS_MAX = 2;

/** Whether the worker that is at work since the last death has added so many events, and nothing that it is at was hit too often already. */
export function mayStrike(log: readonly Logged[], deaths: readonly number[], events: number): boolean {
  if (log.length - (deaths.at(-1) ?? 0) < events) return false;
  const { open, hits } = standing(log, deaths);
  return [...open.values()].every((stream) => (hits.get(stream) ?? 0) < HITS_MAX);
}

export interface BegunAgain {
  readonly tool: string;
  /** By a key of its own: whoever is called can tell that it is the same call. */
  readonly keyed: boolean;
  readonly external: boolean;
  /** Beyond the first time. */
  readonly times: number;
}

/** Tools whose calls were begun more than once, because a worker died inside. */
export function begunAgain(log: readonly Logged[]): BegunAgain[] {
  const begun = log.filter(({ type }) => type === "ToolCallStarted");
  const calls = [...Map.groupBy(begun, callOf).values()].filter(({ length }) => length > 1);
  return [...Map.groupBy(calls, ([first]) => toolOf(first).tool)].map(([tool, repeated]) => {
    const { effects, idempotency } = toolOf(repeated[0]?.[0]);
    const times = repeated.reduce((sum, { length }) => sum + length - 1, 0);
    return { tool, keyed: idempotency === "keyed", external: effects === "external", times };
  });
}

const toolOf = (event: Logged | undefined) =>
  event?.payload as { readonly tool: string; readonly effects: string; readonly idempotency: string };
