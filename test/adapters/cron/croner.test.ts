// The written rules for days on which clocks change (docs/explanation/schedules.md), as croner keeps them.
import { describe, expect, test } from "@jest/globals";
import { cronTimes } from "../../../shared/adapters/cron/croner.ts";

const times = (cron: string, zone: string, from: string, count: number): string[] =>
  cronTimes.next(cron, zone, Date.parse(from), count).map((ms) => new Date(ms).toISOString().slice(5, 16));

const NEW_YORK = "America/New_York"; // 2026: forward on 8 March at 02:00, back on 1 November at 02:00
const LORD_HOWE = "Australia/Lord_Howe"; // 2026: back on 5 April at 02:00 by half an hour, forward on 4 October at 02:00

describe("a time that occurs twice fires once, the first time", () => {
  test.each([
    ["30 1 * * *", NEW_YORK, "2026-10-31T12:00Z", ["11-01T05:30", "11-02T06:30"]],
    ["45 1 * * *", LORD_HOWE, "2026-04-03T16:00Z", ["04-04T14:45", "04-05T15:15"]],
  ])("%s in %s", (cron, zone, from, expected) => {
    expect(times(cron, zone, from, expected.length)).toEqual(expected);
  });
});

describe("a time that is skipped fires at the next minute that there is", () => {
  test.each([
    ["30 2 * * *", NEW_YORK, "2026-03-07T12:00Z", ["03-08T07:00", "03-09T06:30"]],
    ["15 2 * * *", LORD_HOWE, "2026-10-02T20:00Z", ["10-03T15:30", "10-04T15:15"]],
    // Two of one gap are one, since they are the same minute.
    ["10,20 2 * * *", LORD_HOWE, "2026-10-02T20:00Z", ["10-03T15:30", "10-04T15:10", "10-04T15:20"]],
  ])("%s in %s", (cron, zone, from, expected) => {
    expect(times(cron, zone, from, expected.length)).toEqual(expected);
  });
});

describe("what fires every few minutes runs through", () => {
  test.each([
    [NEW_YORK, "2026-03-08T05:00Z"],
    [NEW_YORK, "2026-11-01T04:00Z"],
    [LORD_HOWE, "2026-04-04T13:00Z"],
    [LORD_HOWE, "2026-10-03T13:00Z"],
    ["UTC", "2026-03-29T00:00Z"],
  ])("*/15 in %s from %s: each quarter of an hour of real time", (zone, from) => {
    const got = cronTimes.next("*/15 * * * *", zone, Date.parse(from), 16);
    expect(got.map((ms) => (ms - Date.parse(from)) / 60_000)).toEqual(
      Array.from({ length: 16 }, (_, i) => 15 * (i + 1)),
    );
  });
});

test("nothing is made up for where minutes have a step: there is no two o'clock that day", () => {
  expect(times("*/20 2 * * *", NEW_YORK, "2026-03-07T12:00Z", 1)).toEqual(["03-09T06:00"]);
});

test("in UTC nothing is skipped and nothing doubled; leap days and weekdays are what they are", () => {
  expect(times("30 2 * * *", "UTC", "2026-03-08T00:00Z", 2)).toEqual(["03-08T02:30", "03-09T02:30"]);
  expect(times("0 0 29 2 *", "UTC", "2026-01-01T00:00Z", 1)).toEqual(["02-29T00:00"]);
  expect(times("0 9 * * MON", "UTC", "2026-11-30T09:00Z", 1)).toEqual(["12-07T09:00"]);
});

test("the last times are the next ones, looked at from behind; the time itself is one of them", () => {
  for (const [cron, zone, from] of [
    ["30 1 * * *", NEW_YORK, "2026-10-30T12:00Z"],
    ["30 2 * * *", NEW_YORK, "2026-03-06T12:00Z"],
    ["*/15 * * * *", LORD_HOWE, "2026-04-04T13:00Z"],
    ["15,45 2 * * *", LORD_HOWE, "2026-10-02T12:00Z"],
  ] as const) {
    const next = cronTimes.next(cron, zone, Date.parse(from), 8);
    const until = next.at(-1) ?? 0;
    expect(cronTimes.last(cron, zone, until, 8)).toEqual(next);
    expect(cronTimes.last(cron, zone, until - 1, 1)).toEqual(next.slice(-2, -1));
  }
});

describe("what is no schedule", () => {
  test.each([
    ["0 0 30 2 *", "UTC", "never fires"],
    ["0 0 31 4 *", "UTC", "never fires"],
    ["* * * * * *", "UTC", "five"],
    ["60 * * * *", "UTC", "minute"],
    ["@reboot", "UTC", "no cron expression"],
    ["hello", "UTC", "no cron expression"],
    ["", "UTC", "no cron expression"],
    ["0 0 * * *", "Mars/Base", 'no time zone "Mars/Base"'],
    ["0 0 * * *", "", "no time zone"],
  ])("%j in %j", (cron, zone, says) => {
    expect(cronTimes.problem(cron, zone, 0)).toContain(says);
  });

  test("what is one has no problem", () => {
    for (const cron of ["* * * * *", "@daily", "0 0 L * *", "0 12 * * MON#2"])
      expect(cronTimes.problem(cron, LORD_HOWE, 0)).toBeNull();
  });
});
