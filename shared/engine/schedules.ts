// Making and changing schedules: what couldn't fire is refused here, and not at three in the morning.
import type { ErrorInfo } from "../core/errors.ts";
import { jsonBytes } from "../core/json.ts";
import { SCHEDULE_INPUT_BYTES, SCHEDULES_MAX } from "../core/limits.ts";
import type { CronTimes } from "../ports/cron.ts";
import type { NewSchedule, Schedule, Schedules } from "../ports/schedules.ts";
import type { EngineDeps } from "./deps.ts";
import { inputFor, startProblem } from "./start-run.ts";

export type ScheduleDeps = Pick<EngineDeps, "agents" | "files" | "store"> & {
  readonly schedules: Schedules;
  readonly cron: CronTimes;
};
/** A schedule as people write it. */
export type ScheduleRequest = Omit<NewSchedule, "nextAt"> & { readonly enabled: boolean };
export type Scheduled =
  | { readonly type: "scheduled"; readonly schedule: Schedule }
  | { readonly type: "refused"; readonly error: ErrorInfo };

const refused = (code: ErrorInfo["code"], message: string): Scheduled => ({
  type: "refused",
  error: { code, message },
});

export async function createSchedule(
  deps: ScheduleDeps,
  asked: ScheduleRequest,
  createdBy: string,
): Promise<Scheduled> {
  const now = await deps.store.streams.now();
  const input = inputFor(deps, asked);
  if (!input.ok) return { type: "refused", error: input.error };
  const request = { ...asked, input: input.value };
  const problem = await problemWith(deps, request, now);
  if (problem !== null) return { type: "refused", error: problem };
  const schedule = await deps.schedules.create({ ...written(deps, request, now), createdBy });
  if (schedule !== null) return { type: "scheduled", schedule };
  return refused(
    "schedule.too_many",
    `There are ${SCHEDULES_MAX} schedules already: remove one that is of no use any more.`,
  );
}

/** What isn't in `change` stays. Its next time is counted from now on: what a pause or another expression has passed over isn't caught up. */
export async function changeSchedule(
  deps: ScheduleDeps,
  before: Schedule,
  change: Partial<ScheduleRequest>,
): Promise<Scheduled> {
  const { name, agent, process, input, cron, zone, catchUp, nextAt } = before;
  const whole = { name, agent, process, input, cron, zone, catchUp, enabled: nextAt !== null, ...change };
  const kept = inputFor(deps, whole);
  if (!kept.ok) return { type: "refused", error: kept.error };
  const request = { ...whole, input: kept.value };
  const now = await deps.store.streams.now();
  const problem = await problemWith(deps, request, now);
  if (problem !== null) return { type: "refused", error: problem };
  const schedule = await deps.schedules.change(before.id, written(deps, request, now));
  if (schedule !== null) return { type: "scheduled", schedule };
  return refused("not_found", `The schedule ${before.id} was removed meanwhile.`);
}

function written({ cron }: ScheduleDeps, { enabled, ...request }: ScheduleRequest, now: number): NewSchedule {
  return { ...request, nextAt: enabled ? (cron.next(request.cron, request.zone, now, 1)[0] ?? null) : null };
}

async function problemWith(deps: ScheduleDeps, request: ScheduleRequest, now: number): Promise<ErrorInfo | null> {
  const cron = deps.cron.problem(request.cron, request.zone, now);
  if (cron !== null) return { code: "schedule.invalid", message: cron };
  const bytes = jsonBytes(request.input);
  if (bytes > SCHEDULE_INPUT_BYTES)
    return {
      code: "payload.too_large",
      message: `The input of ${bytes} bytes is over the limit of ${SCHEDULE_INPUT_BYTES} bytes for a schedule.`,
    };
  return await startProblem(deps, request);
}
