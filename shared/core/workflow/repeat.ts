// What a tick's plan would do again that tasks of cut plans have done (I6b). A cut by itself repeats nothing, and neither does what a plan takes over:
// only new work can. So that is what is looked at, whenever something is planned, and not the cut.
import { digestOf } from "../digest.ts";
import type { Json } from "../json.ts";
import { CUT_INPUT_CHARS } from "../limits.ts";
import type { RunHistory, RunLog } from "./fold.ts";
import type { TickPlan } from "./plan.ts";

export interface Dropped {
  readonly tasks: string[];
  /** By their runs' ids. */
  readonly children: string[];
}

/** Tasks of cut plans, and cut children, that no plan holds, this one included, and that nobody has given up for this generation. */
export function dropped(
  { cutPlans, taken, cutChildren, children, givenUp }: RunHistory,
  { waves, adopted }: TickPlan,
  generation: number,
): Dropped {
  const claimed = new Set([...waves.flatMap((w) => w.claimed), ...adopted]);
  const isDropped = (id: string): boolean => !claimed.has(id) && givenUp.get(id) !== generation;
  const tasks = new Set(cutPlans.flatMap((plan) => plan.tasks));
  const runs = new Set(cutChildren.map(({ run }) => run));
  return {
    tasks: [...tasks].filter((id) => !taken.has(id) && isDropped(id)),
    children: [...runs].filter((id) => !children.has(id) && isDropped(id)),
  };
}

export interface NewWork {
  /** As people are told of it. */
  readonly words: string;
  /** Of what it is about, whole. */
  readonly digest: string;
}

/**
 * New work that could do anything again: tasks of roles that can (`acts`), children, which may come to any role of the agent, and steps that never began,
 * since a step may be any code. One that begins again has the key that it had. `acts(null)`: whether any role can.
 */
export function newWork(
  { events, waves, children }: TickPlan,
  raw: RunLog,
  acts: (role: string | null) => boolean,
): NewWork[] {
  const known = new Set(raw.flatMap((e) => (e.type === "StepStarted" ? [e.idempotencyKey] : [])));
  const tasks = waves.flatMap((w) => w.fresh).filter(({ role }) => acts(role));
  const steps = events.filter((e) => e.type === "StepStarted").filter((e) => !known.has(e.idempotencyKey));
  const runs = acts(null) ? children : [];
  return [
    ...tasks.map(({ role, input, digest }) => ({ words: inWords(role, input), digest })),
    ...runs.map(({ process, input }) => ({
      words: `run ${inWords(process, input)}`,
      digest: digestOf({ process, input }),
    })),
    ...steps.map(({ name, idempotencyKey }) => ({ words: `step ${name}`, digest: idempotencyKey })),
  ];
}

/** A task, or a child, as people are told of it. */
export function inWords(role: string, input: Json): string {
  const text = JSON.stringify(input);
  return `${role} ${text.length <= CUT_INPUT_CHARS ? text : `${text.slice(0, CUT_INPUT_CHARS).toWellFormed()}…`}`;
}
