// What becomes of a run whose model can't be asked, since the installation's secret has no key for it, isn't there, or can't be reached: the handlers that are
// deployed, over Postgres, and a Secrets Manager that speaks its protocol.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { modelsWithSecrets } from "../../functions/models.ts";
import { createTaskHandler } from "../../functions/task.ts";
import { createTickHandler } from "../../functions/tick.ts";
import { localContext, toSqsEvent } from "../../local/sqs-event.ts";
import { createWorker, type TestWorker } from "../../local/testing/worker.ts";
import { createModels } from "../../shared/adapters/model/models.ts";
import { createSecretsManagerSecrets } from "../../shared/adapters/secrets/secrets-manager.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import { QUEUE_NAMES } from "../../shared/ports/queue.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { agent, role, serving, workflow } from "../support/agents.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const ARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:TorenKeys-abc";
const AGENTS = serving(
  agent(
    "crew",
    [role("writer", { model: "openai/gpt-5-mini" })],
    workflow(async (ctx) => await ctx.ask("writer", "Write.")),
  ),
);
const AWS = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_MAX_ATTEMPTS: "1",
};
/** Messages that this little work may take: what spins takes as many as one lets it. */
const ROUNDS = 40;

let db: TestDatabase;
let server: Server;
let worker: TestWorker;
let answer: () => { readonly status: number; readonly body: unknown };
let asked = 0;
const before = { ...process.env };
beforeAll(async () => {
  server = createServer((_, response) => {
    asked++;
    const { status, body } = answer();
    response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  Object.assign(process.env, AWS, { AWS_ENDPOINT_URL_SECRETS_MANAGER: `http://127.0.0.1:${port}` });
});
afterAll(() => {
  process.env = before;
  server.close();
});
beforeEach(async () => {
  asked = 0;
  db = await testDatabase();
  await migrate(db.database, ["crew"]);
});
afterEach(async () => {
  worker.stop();
  await db.drop();
});

/** Works with the real handlers until nothing is due, or ROUNDS messages were taken. */
async function work(): Promise<{ readonly run: RunRow; readonly messages: number; readonly left: number }> {
  worker = createWorker({ database: db.database, agents: AGENTS, models: {} });
  const engine: EngineDeps = {
    ...worker.deps,
    models: modelsWithSecrets({
      secrets: createSecretsManagerSecrets({ arn: ARN }),
      place: `the secret ${ARN}`,
      make: (values) => createModels({ env: values }),
    }),
  };
  const stop = new AbortController().signal;
  const tick = createTickHandler({ engine, stop });
  const task = createTaskHandler({ engine, stop });
  const started = await startRun(engine, { agent: "crew", input: null });
  if (started.type === "refused") throw new Error(started.error.message);
  let messages = 0;
  for (let idle = 0; idle < 3 && messages < ROUNDS; ) {
    idle++;
    for (const queue of QUEUE_NAMES) {
      const received = await engine.queue.receive(queue, 10, 60_000);
      if (received.length === 0) continue;
      idle = 0;
      messages += received.length;
      const { batchItemFailures } = await (queue === "ticks" ? tick : task)(
        toSqsEvent(received),
        localContext(queue, "1"),
      );
      expect(batchItemFailures).toEqual([]);
    }
  }
  const run = await engine.store.runs.get("crew", started.runId);
  if (run === null) throw new Error("the run is gone");
  const { rows } = await db.database.pool.query(
    "SELECT count(*)::int AS n FROM toren_control.queue_messages WHERE visible_at <= clock_timestamp()",
  );
  return { run, messages, left: rows[0].n };
}

const secretOf = (values: object) => ({
  status: 200,
  body: { ARN, Name: "TorenKeys", SecretString: JSON.stringify(values) },
});
const refusal = (name: string, status = 400) => ({
  status,
  body: { __type: name, message: `${name}, says the server.` },
});

test("a secret without the key fails the run, which names the key and where it belongs", async () => {
  answer = () => secretOf({ unused: "as CloudFormation made it" });
  const { run, messages, left } = await work();
  expect(run).toMatchObject({ status: "failed", error: { code: "model.auth" } });
  expect(run.error?.message).toContain("OPENAI_API_KEY");
  expect(run.error?.message).toContain(ARN);
  expect([messages, left]).toEqual([3, 0]); // a tick, the task, a tick
  expect(asked).toBeLessThanOrEqual(2); // once more, in case somebody has just put it there
});

test.each(["ResourceNotFoundException", "AccessDeniedException"])(
  "a secret that can't be had (%s) fails the run, which names it",
  async (name) => {
    answer = () => refusal(name);
    const { run, messages, left } = await work();
    expect(run).toMatchObject({ status: "failed", error: { code: "model.auth" } });
    expect(run.error?.message).toContain(ARN);
    expect([messages, left]).toEqual([3, 0]);
  },
);

test("a secret that is no JSON object of strings fails the run, and its text is in no message", async () => {
  answer = () => ({ status: 200, body: { ARN, SecretString: "sk-live-0123456789" } });
  const { run, messages } = await work();
  expect(run).toMatchObject({ status: "failed", error: { code: "model.auth" } });
  expect(run.error?.message).toContain('{"OPENAI_API_KEY": "sk-…"}');
  expect(JSON.stringify(run)).not.toContain("sk-live");
  expect(messages).toBe(3);
});

test("a Secrets Manager that is away parks the task until later: no message goes round meanwhile", async () => {
  answer = () => refusal("InternalServiceError", 500);
  const { run, messages, left } = await work();
  expect(run.status).toBe("running"); // its task waits for its next try
  expect(left).toBe(0);
  expect(messages).toBeLessThanOrEqual(3);
  const { rows } = await db.database.pool.query(
    "SELECT status, wait, wake_at > clock_timestamp() AS later FROM agent_crew.streams WHERE stream_id <> 'run'",
  );
  expect(rows).toEqual([expect.objectContaining({ later: true })]);
}, 60_000);
