import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { startGuardianLoop } from "../../local/guardian-loop.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { recordingLog } from "../support/log.ts";
import { until } from "../support/sqs.ts";

test("the guardian's loop goes on after a pass that failed, tells of it once, and stops", async () => {
  const log = recordingLog();
  let passes = 0;
  const guardian = startGuardianLoop(
    async () => {
      if (++passes < 3) throw new TorenError("database.unavailable", "away");
      return { nudged: 0, fired: 0, fixed: null };
    },
    log,
    20,
  );
  await until(() => passes >= 4);
  await guardian.stop();
  const seen = passes;
  await sleep(100);
  expect(passes).toBe(seen);
  expect(log.entries.map((e) => e.what)).toEqual(["the guardian's pass failed", "the guardian works again"]);
});
