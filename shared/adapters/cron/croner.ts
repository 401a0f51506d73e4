// Cron expressions by croner: its rules for the days on which clocks change are those of the port, and tests hold it to them.
import { Cron } from "croner";
import { messageOf } from "../../core/errors.ts";
import type { CronTimes } from "../../ports/cron.ts";

/** Its own rule for a skipped time holds for a single one only, `10,20 2 * * *` would miss the day. */
const of = (cron: string, timezone: string): Cron =>
  new Cron(cron, { timezone, mode: "5-part", paused: true, fixedTimeRule: "no-wildcard" });

export const cronTimes: CronTimes = {
  problem: (cron, zone, now) => {
    if (!isZone(zone)) return `There is no time zone "${zone}". Write it as Europe/Berlin, or UTC.`;
    try {
      return of(cron, zone).nextRun(new Date(now)) === null ? `"${cron}" never fires: no such day ever comes.` : null;
    } catch (e) {
      return `"${cron}" is no cron expression of five fields (minute, hour, day, month, weekday): ${messageOf(e).replace(/^CronPattern: /, "")}`;
    }
  },
  next: (cron, zone, after, count) => of(cron, zone).nextRuns(count, new Date(after)).map(Number),
  // Croner takes those before its reference: a millisecond more lets that very time in.
  last: (cron, zone, until, count) =>
    of(cron, zone)
      .previousRuns(count, new Date(until + 1))
      .map(Number)
      .sort((a, b) => a - b),
};

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
