// What a tick decided, as it is to be recorded, unless it would silently repeat what tasks of cut plans, or cut children, have done (I6b): then a person is
// asked.
import { digestOf } from "../core/digest.ts";
import { isUnrepeatable, type RunEvent, type TaskOutcome } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import { CUT_SHOWN_MAX } from "../core/limits.ts";
import { streamIdOf, taskIdOf } from "../core/stream-id.ts";
import {
  type Claimable,
  type NewChild,
  planTick,
  type StandIn,
  type TickPlan,
  type WavePlan,
} from "../core/workflow/plan.ts";
import { type Dropped, dropped, inWords, newWork } from "../core/workflow/repeat.ts";
import type { Advance } from "../core/workflow/schedule.ts";
import { cutRequest, decidedAbout, type Instead, type Repeated } from "./cut-request.ts";
import type { Worked } from "./deps.ts";
import { handOver } from "./hand-over.ts";
import { parkStream } from "./park-stream.ts";
import type { TickWork } from "./tick-work.ts";

export type Round =
  | {
      readonly type: "plan";
      readonly events: readonly RunEvent[];
      readonly waves: readonly WavePlan[];
      readonly children: readonly NewChild[];
      readonly adopted: readonly string[];
    }
  /** Nothing of it may be recorded. */
  | { readonly type: "asked"; readonly repeated: Repeated };

export async function planRound(work: TickWork, { decisions }: Advance): Promise<Round> {
  const history = work.history();
  const { generation } = work.deployed;
  const claimable = await whatMayBeClaimed(work);
  const plan = planTick(decisions, history, claimable);
  const left = dropped(history, plan, generation);
  if (left.tasks.length + left.children.length === 0 || newWork(plan, work.log, acts(work)).length === 0)
    return { type: "plan", ...plan };
  const done = await cannotBeRepeated(work, left);
  if (done.calls.length === 0) return { type: "plan", ...plan };
  const kept = planTick(decisions, history, { ...claimable, keeping: await begun(work, left) });
  const instead = await shown(work, kept, done.whose);
  switch (decidedAbout(work.log, instead, generation)) {
    case "rerun":
      return {
        type: "plan",
        ...plan,
        events: [...plan.events, { type: "TasksGivenUp", tasks: instead.tasks, generation }],
      };
    case "keep":
      return { type: "plan", ...kept };
    case null: {
      const { agent, runId } = work.hint;
      const price = await work.deps.store.tasks.price(agent, runId, left.tasks, left.children);
      return { type: "asked", repeated: { calls: done.calls, price, instead } };
    }
  }
}

async function whatMayBeClaimed(work: TickWork): Promise<Claimable> {
  const { cutPlans, cutChildren, inherited } = work.history();
  const { agent, runId } = work.hint;
  const { tasks, children } = work.deps.store;
  const digests = cutPlans.length === 0 ? [] : await tasks.digests(agent, runId);
  const runs = cutChildren.length === 0 ? [] : await children.claimable(agent, runId);
  return {
    digests: new Map(digests.map((d) => [d.taskId, d.digest])),
    children: new Set([...runs, ...[...inherited].filter(([, end]) => !isCancelled(end)).map(([run]) => run)]),
  };
}

/** As the store has it of the run's own: a cancel says nothing of what was asked. */
const isCancelled = (end: TaskOutcome): boolean => end.status === "failed" && end.error.code === "run.cancelled";

/** What they have done that can't be done again: for people, and whose it is. */
async function cannotBeRepeated(work: TickWork, left: Dropped): Promise<{ calls: string[]; whose: string[] }> {
  const { agent, runId } = work.hint;
  const { tasks, children } = work.deps.store;
  const own = left.tasks.length === 0 ? [] : await tasks.unrepeatable(agent, runId, left.tasks);
  const below = left.children.length === 0 ? [] : await children.unrepeatable(agent, left.children);
  return {
    calls: [...own.map((c) => `${c.taskId}: ${c.tool}`), ...below.map((c) => `run ${c.runId}: ${c.tool}`)],
    whose: [...new Set([...own.map((c) => c.taskId), ...below.map((c) => c.child)])],
  };
}

/** Of what was dropped, what could stand in for something else: tasks that began, with their roles, and children, with their processes. */
async function begun(work: TickWork, { tasks, children }: Dropped): Promise<Map<string, string>> {
  const open = new Set(tasks);
  const { agent, runId } = work.hint;
  const streams = await work.deps.store.runs.streams(agent, runId);
  const roles = streams.flatMap(({ streamId, role, headSeq }) => {
    const taskId = taskIdOf(streamId);
    return taskId !== null && open.has(taskId) && role !== null && headSeq > 0 ? [[taskId, role] as const] : [];
  });
  const runs = new Set(children);
  const processes = work.history().cutChildren.filter((c) => runs.has(c.run));
  return new Map([...roles, ...processes.map((c) => [c.run, c.process] as const)]);
}

/** Whether a task of this role, or of any, can make a call that can't be repeated. A role that isn't there any more fails its tasks. */
const acts =
  ({ deployed }: TickWork) =>
  (role: string | null): boolean => {
    const { roles } = deployed.agent;
    const asked = role === null ? [...roles.values()] : [roles.get(role)];
    return asked.some((one) => one?.tools.some(isUnrepeatable) ?? false);
  };

/** What the question is about: first what a decision to keep would have stand in for what, then what would be new all the same. */
async function shown(work: TickWork, kept: TickPlan, tasks: string[]): Promise<Instead> {
  const fresh = newWork(kept, work.log, acts(work));
  const pairs = kept.standIns.map(({ task, role, input }) => ({ task, role, input }));
  const stands = kept.standIns.slice(0, CUT_SHOWN_MAX).map(async ({ task, role, input }) => ({
    task,
    was: inWords(role, await wasAbout(work, { task, role, input })),
    now: inWords(role, input),
  }));
  return {
    tasks,
    digest: digestOf({ tasks, pairs, fresh: fresh.map((one) => one.digest) }),
    stands: await Promise.all(stands),
    standing: kept.standIns.length,
    fresh: fresh.slice(0, CUT_SHOWN_MAX).map((one) => one.words),
    anew: fresh.length,
  };
}

async function wasAbout(work: TickWork, { task }: StandIn): Promise<Json> {
  const child = work.history().cutChildren.find((c) => c.run === task);
  if (child !== undefined) return child.input;
  const { agent, runId } = work.hint;
  return (await work.deps.store.tasks.spec({ agent, runId, streamId: streamIdOf(task) }))?.input ?? null;
}

/** The last cut says what was edited, whether it has been made or would be made with this plan. */
export async function waitForDecision(
  work: TickWork,
  cut: { readonly fromSeq: number; readonly reason: string } | undefined,
  repeated: Repeated,
): Promise<Worked> {
  const { deployed } = work;
  const edited = cut ?? work.log.findLast((e) => e.type === "StreamInvalidated");
  if (edited === undefined) throw new Error("tasks of cut plans, and no cut");
  const request = cutRequest(work.log, edited, deployed.generation, repeated);
  if (request !== null) work.record(request);
  return (await parkStream(work, "cut")) ?? (await handOver(work)); // a fact came: perhaps the decision
}
