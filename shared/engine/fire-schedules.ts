// The guardian's look at schedules: each time that has come becomes one run. Several guardians may look at once, and each may die anywhere: the statement
// that makes the run also moves the schedule on, so a time fires once or is still due.
import { messageOf } from "../core/errors.ts";
import { SCHEDULES_PER_PASS } from "../core/limits.ts";
import { lower, NO_BUDGET } from "../core/task/ledger.ts";
import type { CronTimes } from "../ports/cron.ts";
import type { Fire, Schedule, Schedules } from "../ports/schedules.ts";
import { dueTimes } from "./catch-up.ts";
import type { EngineDeps } from "./deps.ts";
import { nudge } from "./hints.ts";
import { traceStart } from "./spans.ts";
import { inputFor, startProblem } from "./start-run.ts";

export type FireDeps = Pick<EngineDeps, "agents" | "queue" | "files" | "log" | "uuid"> & {
  readonly schedules: Schedules;
  readonly cron: CronTimes;
};

/** Of the agents that this worker serves; what is left over is still due at the next pass. One that fails keeps no other from firing. */
export async function fireSchedules(deps: FireDeps): Promise<{ readonly fired: number }> {
  const { schedules, now } = await deps.schedules.due(deps.agents.names(), SCHEDULES_PER_PASS);
  let fired = 0;
  for (const schedule of schedules) {
    try {
      fired += await fireDue(deps, schedule, now);
    } catch (e) {
      deps.log.error("schedule not fired", { schedule: schedule.id, agent: schedule.agent, error: messageOf(e) });
    }
  }
  return { fired };
}

async function fireDue(deps: FireDeps, schedule: Schedule, now: number): Promise<number> {
  const { id, nextAt } = schedule;
  if (nextAt === null) return 0;
  const { fires, next } = dueTimes(deps.cron, { ...schedule, nextAt }, now);
  const input = inputFor(deps, schedule); // it was made before its agent had a redaction, or another one
  const problem = fires.length === 0 ? null : input.ok ? await startProblem(deps, schedule) : input.error;
  if (fires.length === 0 || problem !== null) {
    if (problem !== null)
      deps.log.error("schedule can't start its run", { schedule: id, agent: schedule.agent, error: problem.message });
    await deps.schedules.skip(id, nextAt, next, problem?.message ?? null);
    return 0;
  }
  let expected = nextAt;
  for (const [i, at] of fires.entries()) {
    const after = fires[i + 1] ?? next;
    if (!(await fire(deps, { ...schedule, input: input.ok ? input.value : null }, { id, expected, at, next: after })))
      return i;
    if (after === null) return i + 1;
    expected = after;
  }
  return fires.length;
}

async function fire(deps: FireDeps, schedule: Schedule, at: Fire): Promise<boolean> {
  const { agent, process, input, name } = schedule;
  const deployed = deps.agents.get(agent);
  if (deployed === null) return false;
  const runId = deps.uuid();
  const run = {
    agent,
    runId,
    process,
    mode: deployed.agent.processes.get(process)?.kind === "session" ? ("session" as const) : ("task" as const),
    input,
    generation: deployed.generation,
    codeHash: deployed.agent.codeHash,
    budget: lower(NO_BUDGET, deployed.agent.limits),
    attributes: { schedule: name },
    startedBy: { by: `schedule ${name}`, keyId: null },
  };
  return await traceStart(
    { agent, runId, process, parent: undefined },
    async (traceContext) => {
      const more = traceContext === undefined ? {} : { traceContext };
      if (!(await deps.schedules.fire(at, { ...run, ...more }))) return false;
      deps.log.info("schedule fired", { agent, runId, schedule: schedule.id });
      await nudge(deps, [{ agent, runId, taskId: null }]);
      return true;
    },
    (fired) => fired,
  );
}
