import { chmod, mkdtemp, rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createTaskHandler } from "../../functions/task.ts";
import { startPump } from "../../local/pump.ts";
import { type EmbeddedDatabase, openEmbedded } from "../../shared/adapters/database/embedded.ts";
import { createPostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { recordingLog } from "../support/log.ts";
import { engineOver, hintOfTask, until } from "../support/sqs.ts";

let folder: string;
let database: EmbeddedDatabase;
beforeAll(async () => {
  folder = await mkdtemp("/tmp/toren-outage-");
  await chmod(folder, 0o755);
  database = await openEmbedded(folder);
  await migrate(database, []);
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

test("a server that is killed under a working pump comes back, and the pump with it: what is sent afterwards is worked on", async () => {
  const log = recordingLog();
  const queue = createPostgresQueue({ database, log });
  const worked: string[] = [];
  const task = createTaskHandler(
    { engine: engineOver(queue, log), stop: new AbortController().signal },
    {
      runTick: async () => "ended",
      runTask: async (_, hint) => {
        worked.push(hint.runId);
        return "ended";
      },
    },
  );
  const none = async () => ({ batchItemFailures: [] });
  const pump = startPump({ queue, log, handlers: { tick: none, task, deadLetter: none } });
  await queue.send([{ queue: "tasks-short", hint: hintOfTask() }]);
  await until(() => worked.length === 1);
  process.kill(database.pid(), "SIGKILL");
  await sleep(100);
  const hint = hintOfTask();
  // Whoever sends while the database is away is told so, and may try again.
  await until(async () => {
    const sent = queue.send([{ queue: "tasks-short", hint }]);
    return await sent.then(
      () => true,
      (e) => {
        expect(e).toMatchObject({ code: "database.unavailable" });
        return false;
      },
    );
  }, 15_000);
  await until(() => worked.includes(hint.runId), 5_000);
  expect(await pump.stop()).toBe(0);
  await queue.close();
});
