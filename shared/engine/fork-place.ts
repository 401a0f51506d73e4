// Where a fork begins to differ from its source, as people write it: a wave, a task, a step of a task, a step of the workflow, or a child run.
import { isOperation, type RunHistory } from "../core/workflow/fold.ts";

export type Place =
  | {
      readonly type: "found";
      /** The operation that is open again. */
      readonly op: number;
      /** Of a wave, the places of the tasks that begin anew, and their ids. */
      readonly tasks: readonly number[];
      readonly taskIds: readonly string[];
      /** The task begins with the question of this step, and keeps what stands before it. */
      readonly step: { readonly taskId: string; readonly stepId: string } | null;
    }
  | { readonly type: "unknown"; readonly message: string };

const WAVE = /^w(\d+)$/;
const TASK = /^(w\d+t\d+)(?:\/(s\d+))?$/;
const STEP = /^step:(.+)$/;
const CHILD = /^run:(.+)$/;

export function findPlace(history: RunHistory, from: string): Place {
  const plans = [...history.plans.values()].filter((plan) => plan.tasks.length > 0);
  const [, wave] = WAVE.exec(from) ?? [];
  if (wave !== undefined) {
    const plan = history.plans.get(Number(wave));
    if (plan !== undefined && plan.tasks.length > 0)
      return { type: "found", op: plan.seq, tasks: [...plan.tasks.keys()], taskIds: plan.tasks, step: null };
  }
  const [, taskId, stepId] = TASK.exec(from) ?? [];
  const holder = plans.find((plan) => taskId !== undefined && plan.tasks.includes(taskId));
  if (taskId !== undefined && holder !== undefined) {
    const step = stepId === undefined ? null : { taskId, stepId };
    return { type: "found", op: holder.seq, tasks: [holder.tasks.indexOf(taskId)], taskIds: [taskId], step };
  }
  const [, name] = STEP.exec(from) ?? [];
  const steps = history.log.filter(isOperation).filter((e) => e.type === "StepStarted");
  const step = steps.findLast((e) => e.name === name);
  if (step !== undefined) return { type: "found", op: step.seq, tasks: [], taskIds: [], step: null };
  const [, process] = CHILD.exec(from) ?? [];
  const children = history.log.filter((e) => e.type === "ChildStarted");
  const child = children.findLast((e) => e.process === process);
  if (child !== undefined) return { type: "found", op: child.seq, tasks: [], taskIds: [], step: null };
  const there = [
    ...plans.map((plan) => `w${plan.wave} (${plan.name})`),
    ...steps.map((e) => `step:${e.name}`),
    ...children.map((e) => `run:${e.process}`),
  ];
  const known =
    there.length === 0 ? "It has none on record." : `It has ${[...new Set(there)].slice(0, SHOWN).join(", ")}.`;
  const forms =
    "a wave (w1), a task (w1t0), a step of a task (w1t0/s2), a step of the workflow (step:NAME), or a child run (run:PROCESS)";
  const left = history.begun.type === "RunCreated" ? "" : " What stands before it went on anew is sealed.";
  return { type: "unknown", message: `The run has no "${from}" to fork from. Name ${forms}. ${known}${left}` };
}
const SHOWN = 20;
