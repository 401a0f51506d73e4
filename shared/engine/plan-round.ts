// What a tick decided, as it is to be recorded, unless it would silently repeat what tasks of cut plans have done (I6b): then a person is asked.
import { digestOf } from "../core/digest.ts";
import { isUnrepeatable, type RunEvent } from "../core/events.ts";
import { CUT_SHOWN_MAX } from "../core/limits.ts";
import { streamIdOf, taskIdOf } from "../core/stream-id.ts";
import { planTick, type TickPlan, type WavePlan } from "../core/workflow/plan.ts";
import { droppedTasks, inWords, newWork } from "../core/workflow/repeat.ts";
import type { Advance } from "../core/workflow/schedule.ts";
import { cutRequest, decidedAbout, type Instead, type Repeated } from "./cut-request.ts";
import type { Worked } from "./deps.ts";
import { handOver } from "./hand-over.ts";
import { parkStream } from "./park-stream.ts";
import type { TickWork } from "./tick-work.ts";

export type Round =
  | { readonly type: "plan"; readonly events: readonly RunEvent[]; readonly waves: readonly WavePlan[] }
  /** Nothing of it may be recorded. */
  | { readonly type: "asked"; readonly repeated: Repeated };

export async function planRound(work: TickWork, { decisions }: Advance): Promise<Round> {
  const history = work.history();
  const { agent, runId } = work.hint;
  const { tasks, runs } = work.deps.store;
  const { generation } = work.deployed;
  const digests =
    history.cutPlans.length === 0
      ? new Map<string, string>()
      : new Map((await tasks.digests(agent, runId)).map((d) => [d.taskId, d.digest]));
  const plan = planTick(decisions, history, digests);
  const dropped = droppedTasks(history, plan, generation);
  if (dropped.length === 0 || newWork(plan, work.log, acts(work)).length === 0) return { type: "plan", ...plan };
  const calls = await tasks.unrepeatable(agent, runId, dropped);
  if (calls.length === 0) return { type: "plan", ...plan };
  const open = new Set(dropped);
  const begun = (await runs.streams(agent, runId)).flatMap(({ streamId, role, headSeq }) => {
    const taskId = taskIdOf(streamId);
    return taskId !== null && open.has(taskId) && role !== null && headSeq > 0 ? [[taskId, role] as const] : [];
  });
  const kept = planTick(decisions, history, digests, new Map(begun));
  const instead = await shown(work, kept, [...new Set(calls.map((c) => c.taskId))]);
  switch (decidedAbout(work.log, instead, generation)) {
    case "rerun":
      return {
        type: "plan",
        waves: plan.waves,
        events: [...plan.events, { type: "TasksGivenUp", tasks: instead.tasks, generation }],
      };
    case "keep":
      return { type: "plan", ...kept };
    case null: {
      const price = await tasks.price(agent, runId, dropped);
      return { type: "asked", repeated: { calls: calls.map((c) => `${c.taskId}: ${c.tool}`), price, instead } };
    }
  }
}

/** Whether a task of this role can make a call that can't be repeated. A role that isn't there any more fails its tasks. */
const acts =
  ({ deployed }: TickWork) =>
  (role: string): boolean =>
    deployed.agent.roles.get(role)?.tools.some(isUnrepeatable) ?? false;

/** What the question is about: first what a decision to keep would have stand in for what, then what would be new all the same. */
async function shown(work: TickWork, kept: TickPlan, tasks: string[]): Promise<Instead> {
  const { agent, runId } = work.hint;
  const fresh = newWork(kept, work.log, acts(work));
  const pairs = kept.standIns.map(({ task, role, input }) => ({ task, role, input }));
  const stands = kept.standIns.slice(0, CUT_SHOWN_MAX).map(async ({ task, role, input }) => {
    const spec = await work.deps.store.tasks.spec({ agent, runId, streamId: streamIdOf(task) });
    return { task, was: inWords(role, spec?.input ?? null), now: inWords(role, input) };
  });
  return {
    tasks,
    digest: digestOf({ tasks, pairs, fresh: fresh.map((one) => one.digest) }),
    stands: await Promise.all(stands),
    standing: kept.standIns.length,
    fresh: fresh.slice(0, CUT_SHOWN_MAX).map((one) => one.words),
    anew: fresh.length,
  };
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
