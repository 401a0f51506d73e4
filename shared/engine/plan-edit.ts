// What other code would make of a run that goes on, before anybody deploys it: what it would cut, what that would cost, and whether a person would be asked
// (I6, I6b). Nothing is written and no model is asked; the workflow is executed as a tick does it, which does nothing outside.
import { type Price, priceOf } from "../core/cost.ts";
import type { ErrorInfo } from "../core/errors.ts";
import { isUnrepeatable, type Recorded, type RunEvent, type TaskEvent, TERMINAL } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import { CUTS_IN_ONE_ADVANCE_MAX, OPERATIONS_MAX } from "../core/limits.ts";
import { headerOf } from "../core/task/header.ts";
import { effectiveTask, replay } from "../core/task/replay.ts";
import { beginningOf, foldRun } from "../core/workflow/fold.ts";
import { planTick, type TickPlan } from "../core/workflow/plan.ts";
import { type Dropped, dropped, newWork } from "../core/workflow/repeat.ts";
import { type Advance, advance } from "../core/workflow/schedule.ts";
import type { AgentDefinition } from "../ports/agents.ts";
import { checkOf } from "./task-work.ts";
import { executionOf } from "./tick-work.ts";

/** A run as it is on record, read whole. */
export interface RunRecord {
  readonly runId: string;
  readonly log: readonly Recorded<RunEvent>[];
  readonly tasks: ReadonlyMap<string, TaskRecord>;
}
export interface TaskRecord {
  readonly role: string;
  readonly input: Json;
  /** Of what it is about: a plan that asks the same takes it over. */
  readonly digest: string;
  readonly log: readonly Recorded<TaskEvent>[];
}

export interface PlannedCut {
  /** `run`, or a task's id. */
  readonly stream: string;
  readonly reason: string;
  /** Calls with effects outside that going on would repeat: a person is asked first. */
  readonly calls: readonly string[];
  /** What was paid and would be asked for anew. Of the stream `run` at most: later plans may take tasks over. */
  readonly price: Price;
}

export interface EditPlan {
  readonly cuts: readonly PlannedCut[];
  /** How many tasks the workflow would plan now that no recorded one answers for. */
  readonly anew: number;
  /** How many recorded tasks of cut plans it would take over, free. */
  readonly kept: number;
  /** Runs that its cut plans started and that it wouldn't take over. What they did and cost isn't in the cuts. */
  readonly children: readonly string[];
  /** Why the run would end with this code; null: it would go on. */
  readonly fails: ErrorInfo | null;
}

const NOTHING: EditPlan = { cuts: [], anew: 0, kept: 0, children: [], fails: null };

export async function planEdit(agent: AgentDefinition, record: RunRecord): Promise<EditPlan> {
  const log = [...record.log];
  const last = log.at(-1);
  if (last === undefined || TERMINAL.has(last.type)) return NOTHING;
  const prepared = executionOf(agent, log, record.runId);
  if (!prepared.ok) return { ...NOTHING, fails: prepared.error };
  const tick = { now: last.recordedAt, seed: "plan", operationsMax: OPERATIONS_MAX };
  const reasons: string[] = [];
  let advanced: Advance;
  for (;;) {
    advanced = await advance(prepared.execution, foldRun(log), tick);
    const { outcome } = advanced;
    if (outcome.type !== "cut" || reasons.length === CUTS_IN_ONE_ADVANCE_MAX) break;
    reasons.push(outcome.reason);
    const { fromSeq, reason } = outcome;
    const seq = (log.at(-1)?.seq ?? 0) + 1;
    log.push({ type: "StreamInvalidated", fromSeq, reason, generation: NEW, seq, recordedAt: tick.now });
  }
  const history = foldRun(log);
  const digests = new Map([...record.tasks].map(([id, task]) => [id, task.digest]));
  const runs = new Set(history.cutChildren.map(({ run }) => run));
  const plan = planTick(advanced.decisions, history, { digests, children: runs });
  const left = reasons.length === 0 ? NONE : dropped(history, plan, NEW);
  const repeats = newWork(plan, log, (role) => acts(agent, role)).length > 0;
  const standing = [...history.taken, ...plan.waves.flatMap((wave) => wave.claimed)];
  const cuts = [...runCut(reasons, left, repeats, record), ...standing.flatMap((id) => taskCut(agent, id, record))];
  const { outcome } = advanced;
  const fails = outcome.type === "failed" ? outcome.error : null;
  return { cuts, fails, children: left.children, ...(reasons.length === 0 ? { anew: 0, kept: 0 } : planned(plan)) };
}

const NONE: Dropped = { tasks: [], children: [] };

/** Whether a task of this role, or of any (null), can make a call that can't be repeated. */
const acts = ({ roles }: AgentDefinition, role: string | null): boolean =>
  (role === null ? [...roles.values()] : [roles.get(role)]).some((one) => one?.tools.some(isUnrepeatable) ?? false);

/** Exceeds every generation that could have decided anything. */
const NEW = Number.MAX_SAFE_INTEGER;

const planned = ({ waves }: TickPlan): Pick<EditPlan, "anew" | "kept"> => ({
  anew: waves.reduce((sum, wave) => sum + wave.fresh.length, 0),
  kept: waves.reduce((sum, wave) => sum + wave.claimed.length, 0),
});

/** All cuts of the workflow as one: what they are for is said, what falls to nobody is counted once. */
function runCut(reasons: readonly string[], left: Dropped, repeats: boolean, { tasks }: RunRecord): PlannedCut[] {
  if (reasons.length === 0) return [];
  const logs = left.tasks.map((id) => [id, effectiveTask(tasks.get(id)?.log ?? [])] as const);
  const done = logs.flatMap(([id, log]) => externalCalls(log).map((tool) => `${id}: ${tool}`));
  const price = priceOf(logs.flatMap(([, log]) => log.flatMap((e) => (e.type === "LlmCallCompleted" ? [e.cost] : []))));
  // Nothing new could do it again: nobody is asked.
  return [{ stream: "run", reason: [...new Set(reasons)].join("; "), calls: repeats ? done : [], price }];
}

/** Completed ones that nothing makes safe to repeat. */
function externalCalls(log: readonly Recorded<TaskEvent>[]): string[] {
  const begun = new Map(
    log.flatMap((e) => (e.type === "ToolCallStarted" && isUnrepeatable(e) ? [[e.toolUseId, e.tool] as const] : [])),
  );
  return log.flatMap((e) => (e.type === "ToolCallCompleted" ? (begun.get(e.toolUseId) ?? []) : []));
}

/** A task that has settled is a fact: editing its role doesn't open it again. */
function taskCut(agent: AgentDefinition, taskId: string, { tasks, log: run }: RunRecord): PlannedCut[] {
  const task = tasks.get(taskId);
  if (task === undefined || effectiveTask(task.log).some((e) => TERMINAL.has(e.type))) return [];
  const role = agent.roles.get(task.role);
  const nothing = { modelCalls: 0, usd: 0, simulated: false };
  if (role === undefined)
    return [{ stream: taskId, reason: `there is no role "${task.role}": the task fails`, calls: [], price: nothing }];
  const process = agent.processes.get(beginningOf(run).process);
  const session = process?.kind === "session" && taskId === "w0t0";
  const replayed = replay(headerOf(role, session), checkOf(role), task.input, task.log, session);
  if (replayed.type === "ok") return [];
  const { reason, calls, begun, price } = replayed;
  return [{ stream: taskId, reason, calls: role.onUnknownOutcome === "retry" ? calls : [...calls, ...begun], price }];
}
