// What tests say of a world: how its waves and timers end, and what became of the run.
import type { RunEvent } from "../../../shared/core/events.ts";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import type { RunFact } from "../../../shared/core/workflow/fold.ts";
import type { Outcome } from "../../../shared/core/workflow/schedule.ts";
import { answer, failure, type Op, World } from "./world.ts";

/** The last planned wave of this name. */
export const waveOf = (world: World, name: string): Op & { type: "WavePlanned" } => {
  const op = world.ops.findLast((o) => o.type === "WavePlanned" && o.name === name);
  if (op?.type !== "WavePlanned") throw new Error(`no wave ${name}`);
  return op;
};
export const settle = (world: World, name: string, ...outputs: (Json | Error)[]): RunFact[] => {
  const op = waveOf(world, name).seq;
  const outcomes = outputs.map((o) => (o instanceof Error ? failure(o.message) : answer(o)));
  return [
    ...outcomes.map((outcome, task): RunFact => ({ type: "TaskSettled", op, task, outcome })),
    { type: "WaveSettled", op },
  ];
};
let inboxSeq = 0;
/** Each comes after all that were made before it. */
export const signal = (name: string, value: Json): RunFact => ({
  type: "SignalReceived",
  signal: name,
  value,
  inboxSeq: ++inboxSeq,
});
export const fired = (world: World, nth: number): RunFact => {
  const timers = world.ops.filter((op) => op.type === "TimerSet");
  return { type: "TimerFired", op: timers[nth]?.seq ?? 0 };
};
export const blocked = (outcome: Outcome): Extract<Outcome, { type: "blocked" }> => {
  if (outcome.type !== "blocked") throw new Error(JSON.stringify(outcome));
  return outcome;
};
export const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
export const last = (world: World): RunEvent | undefined => world.raw.at(-1);
export const code = (world: World): string =>
  world.outcome.type === "failed" ? world.outcome.error.code : world.outcome.type;

/** A run of this code: its first tick, then one with these facts. */
export async function run(workflow: WorkflowFn<Json>, ...facts: RunFact[]): Promise<World> {
  const world = new World(undefined, { topic: "x" });
  await world.tick(workflow);
  if (facts.length > 0) await world.tick(workflow, facts);
  return world;
}
export const failedWith = (world: World): unknown =>
  world.outcome.type === "failed" ? world.outcome.error : world.outcome.type;
/** The run's first operation is a wave, and its first task ends so. */
export const firstSettled = (outcome = answer("A")): RunFact[] => [
  { type: "TaskSettled", op: 2, task: 0, outcome },
  { type: "WaveSettled", op: 2 },
];
