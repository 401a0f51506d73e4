// Whether a task may go on, or is held: its plan was cut, and no other has taken it over. Plans are numbered in their order, so it is the numbers that
// count, not when their facts came: a hold that arrives late, from a tick that has been overtaken meanwhile, holds nothing (I9).
import type { Fact, Recorded, TaskEvent } from "../core/events.ts";
import type { StreamRef, StreamStore } from "../ports/store.ts";

export interface Standing {
  /** The last wave that was cut with the task in it, and the last that claimed it; -1: none. */
  readonly cut: number;
  readonly claimed: number;
}

const FREE: Standing = { cut: -1, claimed: -1 };

export const isHeld = ({ cut, claimed }: Standing): boolean => cut >= 0 && cut >= claimed;

export function standingAfter(before: Standing, fact: Fact): Standing {
  if (fact.kind === "hold") return { ...before, cut: Math.max(before.cut, fact.wave) };
  if (fact.kind === "claim") return { ...before, claimed: Math.max(before.claimed, fact.wave) };
  return before;
}

/** From the facts that the log has absorbed. Few tasks ever have any: the inbox isn't read for the others. */
export async function standingOf(
  streams: StreamStore,
  stream: StreamRef,
  log: readonly Recorded<TaskEvent>[],
  absorbed: number,
): Promise<Standing> {
  if (!log.some((e) => e.type === "FactIgnored")) return FREE;
  const facts = await streams.readInbox(stream, 0);
  return facts.filter((f) => f.seq <= absorbed).reduce((standing, f) => standingAfter(standing, f.fact), FREE);
}
