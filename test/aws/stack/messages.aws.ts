import { rmSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { eventually } from "../support/eventually.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";

let at: Installation;
beforeAll(async () => {
  at = await openInstallation();
}, DEPLOY_MS);
beforeEach(() => at.model(5, 20));
afterAll(() => at?.close());

test("a poison message is tried five times, and ends as a row of dead_letters", async () => {
  await at.send("tasks-short", "this is no hint");
  const row = await eventually(
    "a dead letter",
    async () =>
      (
        await at.sql(
          "SELECT queue, body, receive_count FROM toren_control.dead_letters WHERE body::text LIKE '%this is no hint%'",
        )
      )[0] ?? null,
    60_000,
  );
  expect(row).toMatchObject({ queue: "tasks-short" });
}, 90_000);

test("a wave of 100 tasks ends, in few ticks", async () => {
  const run = await at.ended(await at.start("probe", 100, "wave"), 120_000);
  expect(run).toMatchObject({ status: "completed", output: 100 });
  expect(await at.ledger()).toHaveLength(100);
  await at.expectBalanced([run]);
}, 150_000);

const DOUBLE = `${process.env.TOREN_TEST_AWS_CALLS}.double`;
afterEach(() => rmSync(DOUBLE, { force: true }));

test("I9: every message comes twice, and every run ends as it would", async () => {
  writeFileSync(DOUBLE, "");
  const before = at.calls().length;
  const runs = [await at.start("probe", 12, "wave"), await at.start("probe", 2_000, "nap")];
  const [wave, nap] = [await at.ended(runs[0] ?? "", 90_000), await at.ended(runs[1] ?? "", 90_000)];
  expect(wave).toMatchObject({ status: "completed", output: 12 });
  expect(nap.status).toBe("completed");
  const doubled = at
    .calls()
    .slice(before)
    .filter(({ operation }) => operation === "doubled");
  expect(doubled.length).toBeGreaterThan(4);
  expect(await at.ledger()).toHaveLength(12);
  await at.expectBalanced([wave, nap]);
}, 120_000);
