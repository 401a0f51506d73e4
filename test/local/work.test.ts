import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createDeadLetterHandler } from "../../functions/dead-letter.ts";
import { createGuardianHandler } from "../../functions/guardian.ts";
import { createTaskHandler } from "../../functions/task.ts";
import { createTickHandler } from "../../functions/tick.ts";
import { startGuardianLoop } from "../../local/guardian-loop.ts";
import { startPump } from "../../local/pump.ts";
import { cronTimes } from "../../shared/adapters/cron/croner.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { createDeadLetters } from "../../shared/adapters/queue/dead-letters.ts";
import { createPostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { createSchedules } from "../../shared/adapters/store/schedules.ts";
import { createTotals } from "../../shared/adapters/store/totals.ts";
import { agent, role, serving } from "../support/agents.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { silentLog } from "../support/log.ts";
import { until } from "../support/sqs.ts";
import { createStack } from "../support/stack.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

test("a run on a laptop: pump, handlers and engine, from the first hint to the answer", async () => {
  const queue = createPostgresQueue({ database: db.database, log: silentLog });
  const left = async (): Promise<number> =>
    (await db.database.pool.query("SELECT count(*)::int AS n FROM toren_control.queue_messages")).rows[0].n;
  await migrate(db.database, ["crew"]);
  const model = createScriptedModel(() => "hi there");
  const stack = createStack({
    database: db.database,
    agents: serving(agent("crew", [role("main")], { kind: "role", role: "main" })),
    model,
  });
  const engine = { ...stack.deps, queue };
  const stop = new AbortController();
  const pump = startPump({
    queue,
    log: silentLog,
    handlers: {
      tick: createTickHandler({ engine, stop: stop.signal }),
      task: createTaskHandler({ engine, stop: stop.signal }),
      deadLetter: createDeadLetterHandler({ deadLetters: createDeadLetters(db.database), log: silentLog }),
    },
  });
  const guardian = startGuardianLoop(
    createGuardianHandler({
      ...engine,
      schedules: createSchedules(db.database),
      totals: createTotals(db.database),
      cron: cronTimes,
    }),
    silentLog,
    200,
  );
  const runId = await stack.start("crew", "hello");
  await until(async () => (await engine.store.runs.get("crew", runId))?.status === "completed", 10_000);
  expect(await engine.store.runs.get("crew", runId)).toMatchObject({ output: "hi there" });
  expect(model.ledger).toHaveLength(1);
  await until(async () => (await left()) === 0);
  // c15: hints of finished streams, delivered again, change nothing.
  await queue.send([
    { queue: "ticks", hint: { agent: "crew", runId, taskId: null } },
    { queue: "tasks-short", hint: { agent: "crew", runId, taskId: "w0t0" } },
  ]);
  await until(async () => (await left()) === 0);
  expect(model.ledger).toHaveLength(1);
  await guardian.stop();
  stop.abort();
  expect(await pump.stop()).toBe(0);
  await queue.close();
  stack.stop();
});
