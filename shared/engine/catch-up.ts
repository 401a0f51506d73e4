// Which times of a schedule fire now.
import { SCHEDULE_CATCH_UP_MAX, SCHEDULE_LATE_MS } from "../core/limits.ts";
import type { CronTimes } from "../ports/cron.ts";
import type { Schedule } from "../ports/schedules.ts";

type Due = Pick<Schedule, "cron" | "zone" | "catchUp"> & { readonly nextAt: number };

/**
 * `none`: the last time alone, unless it is later than SCHEDULE_LATE_MS: then somebody was away, and it is missed. `last`: the last time, however late.
 * `all`: every one, of more than SCHEDULE_CATCH_UP_MAX the last ones.
 */
export function dueTimes(
  cron: CronTimes,
  schedule: Due,
  now: number,
): { readonly fires: number[]; readonly next: number | null } {
  const { cron: expression, zone, catchUp, nextAt } = schedule;
  const some = cron.last(expression, zone, now, catchUp === "all" ? SCHEDULE_CATCH_UP_MAX : 1);
  const reached = some.filter((at) => at >= nextAt);
  const fires = catchUp === "none" ? reached.filter((at) => now - at <= SCHEDULE_LATE_MS) : reached;
  return { fires, next: cron.next(expression, zone, now, 1)[0] ?? null };
}
