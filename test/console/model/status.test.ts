import { expect, test } from "@jest/globals";
import { lookOfRun, lookOfTask } from "../../../console/model/status.ts";
import { RUN_STATUSES } from "../../../shared/core/run-status.ts";

test("every status has a word of its own, and one of a newer server is shown by its name", () => {
  const words = RUN_STATUSES.map((status) => lookOfRun(status).word);
  expect(new Set(words).size).toBe(RUN_STATUSES.length);
  expect(RUN_STATUSES.filter((status) => lookOfRun(status).word === status)).toEqual([]);
  expect(lookOfRun("somethingNew").word).toBe("somethingNew");
  expect(lookOfRun("constructor").word).toBe("constructor");
});

test("a task looks like what it does, or how it ended", () => {
  const of = (status: "ready" | "running" | "parked" | "ended", wait: "approval" | null, outcome: "failed" | null) =>
    lookOfTask({ status, wait, outcome }).word;
  expect(of("running", null, null)).toBe("Running");
  expect(of("parked", "approval", null)).toBe("Needs approval");
  expect(of("ended", null, "failed")).toBe("Failed");
  expect(of("ready", null, null)).toBe("Ready");
});
