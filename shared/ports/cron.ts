// When a cron expression fires in a zone. Five fields, minutes at the finest. By the clock on the wall: a time that occurs twice when the clock goes back
// fires once, one that is skipped when it goes forward fires at the next minute that there is, and what fires every few minutes runs through.
export interface CronTimes {
  /** What is wrong with it, in words; null: nothing. An expression that never fires is wrong. */
  problem(cron: string, zone: string, now: number): string | null;
  /** The first `count` times after `after`, fewer where there are no more. @throws where `problem` has one. */
  next(cron: string, zone: string, after: number, count: number): number[];
  /** The last `count` times up to `until`, itself included, in their order. @throws as next. */
  last(cron: string, zone: string, until: number, count: number): number[];
}
