import { expect, test } from "@jest/globals";
import { createGuardianHandler } from "../../functions/guardian.ts";
import { localContext } from "../../local/sqs-event.ts";
import { cronTimes } from "../../shared/adapters/cron/croner.ts";
import { AUDIT_EVERY_MS } from "../../shared/core/limits.ts";
import type { FireDeps } from "../../shared/engine/fire-schedules.ts";
import type { Totals } from "../../shared/ports/totals.ts";
import { recordingLog } from "../support/log.ts";
import { engineOver } from "../support/sqs.ts";

const context = localContext("guardian", "r");
const engine = (log = recordingLog()) => ({
  ...engineOver({} as Parameters<typeof engineOver>[0], log),
  schedules: {} as FireDeps["schedules"],
  totals: {} as Totals,
  cron: cronTimes,
});
const fire = async () => ({ fired: 1 });

test("each pass nudges; the first and one an hour audit as well (I10)", async () => {
  let now = 5;
  let audits = 0;
  let retentions = 0;
  let additions = 0;
  const handle = createGuardianHandler(engine(), {
    fire,
    guard: async () => ({ nudged: 3 }),
    audit: async () => ({ fixed: audits++ }),
    retain: async () => void retentions++,
    addCounts: async () => additions++,
    elapsedMs: () => now,
  });
  expect(await handle({}, context)).toEqual({ nudged: 3, fired: 1, fixed: 0 });
  now += AUDIT_EVERY_MS - 1;
  expect(await handle({}, context)).toEqual({ nudged: 3, fired: 1, fixed: null });
  now += 1;
  expect(await handle({}, context)).toEqual({ nudged: 3, fired: 1, fixed: 1 });
  expect([retentions, additions]).toEqual([2, 3]);
});

test("an audit that failed is made at the next pass", async () => {
  let fails = true;
  const log = recordingLog();
  const handle = createGuardianHandler(engine(log), {
    fire,
    guard: async () => ({ nudged: 0 }),
    audit: async () => {
      if (fails) throw new Error("away");
      return { fixed: 2 };
    },
    retain: async () => {},
    addCounts: async () => 0,
    elapsedMs: () => 0,
  });
  await expect(handle({}, context)).rejects.toThrow("away");
  fails = false;
  expect(await handle({}, context)).toEqual({ nudged: 0, fired: 1, fixed: 2 });
  expect(log.entries.map((e) => e.what)).toEqual(["handler failed", "parked streams were forgotten"]);
});

test("a part that fails keeps no other from its work; the pass fails with the first", async () => {
  const done: string[] = [];
  const failing = (name: string) => async (): Promise<never> => {
    done.push(name);
    throw new Error(`${name} failed`);
  };
  const handle = createGuardianHandler(engine(), {
    fire: failing("fire"),
    guard: failing("guard"),
    audit: failing("audit"),
    retain: failing("retain"),
    addCounts: failing("addCounts"),
    elapsedMs: () => 0,
  });
  await expect(handle({}, context)).rejects.toThrow("fire failed");
  expect(done).toEqual(["fire", "guard", "addCounts", "audit", "retain"]);
});
