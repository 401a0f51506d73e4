// What a tick's plan would do again that tasks of cut plans have done (I6b). A cut by itself repeats nothing, and neither does what a plan takes over:
// only new work can. So that is what is looked at, whenever something is planned, and not the cut.
import type { Json } from "../json.ts";
import { CUT_INPUT_CHARS } from "../limits.ts";
import type { RunHistory, RunLog } from "./fold.ts";
import type { TickPlan } from "./plan.ts";

/** Tasks of cut plans that no plan holds, this one included, and that nobody has given up for this generation. */
export function droppedTasks(
  { cutPlans, taken, givenUp }: RunHistory,
  { waves }: TickPlan,
  generation: number,
): string[] {
  const claimed = new Set(waves.flatMap((w) => w.claimed));
  const ids = new Set(cutPlans.flatMap((plan) => plan.tasks));
  return [...ids].filter((id) => !taken.has(id) && !claimed.has(id) && givenUp.get(id) !== generation);
}

export interface NewWork {
  /** As people are told of it. */
  readonly words: string;
  /** Of what it is about, whole. */
  readonly digest: string;
}

/**
 * New work that could do anything again: tasks of roles that can (`acts`), and steps that never began, since a step may be any code. One that begins again
 * has the key that it had.
 */
export function newWork({ events, waves }: TickPlan, raw: RunLog, acts: (role: string) => boolean): NewWork[] {
  const known = new Set(raw.flatMap((e) => (e.type === "StepStarted" ? [e.idempotencyKey] : [])));
  const tasks = waves.flatMap((w) => w.fresh).filter(({ role }) => acts(role));
  const steps = events.filter((e) => e.type === "StepStarted").filter((e) => !known.has(e.idempotencyKey));
  return [
    ...tasks.map(({ role, input, digest }) => ({ words: inWords(role, input), digest })),
    ...steps.map(({ name, idempotencyKey }) => ({ words: `step ${name}`, digest: idempotencyKey })),
  ];
}

/** A task as people are told of it. */
export function inWords(role: string, input: Json): string {
  const text = JSON.stringify(input);
  return `${role} ${text.length <= CUT_INPUT_CHARS ? text : `${text.slice(0, CUT_INPUT_CHARS).toWellFormed()}…`}`;
}
