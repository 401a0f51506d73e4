// A whole installation on the emulator: the real bundles in Lambda's own runtime, fed by SQS, behind an API Gateway, over a real Postgres. Made by API calls,
// without a stack: the stack's own deployment is another test.
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { CreateScheduleGroupCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { CreateSecretCommand, GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { buildFunctions } from "../../../cdk/build.ts";
import type { Answer } from "../../../functions/migrate.ts";
import type { LedgerEntry } from "../../../local/model-server/ledger.ts";
import { type ModelServer, startModelServer } from "../../../local/model-server/server.ts";
import type { Database } from "../../../shared/ports/database.ts";
import { QUEUE_NAMES } from "../../../shared/ports/queue.ts";
import { testDatabase } from "../../support/database.ts";
import { createApi, type TestApi } from "./api.ts";
import { consumeFrom, createFunction, deleteFunction, invoke, type Mapping, processesOf } from "./functions.ts";
import { arnOf, createQueues, type TestQueues } from "./sqs.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const TIMEOUT_S = { tick: 900, task: 900, guardian: 60, "dead-letter": 60, api: 29, migrate: 900 } as const;
export type FunctionName = keyof typeof TIMEOUT_S;

export interface InstallationOptions {
  /** Folders of agents, from the repository's root. */
  readonly agents: readonly string[];
  /** Milliseconds that an answer of the model takes. */
  readonly latencyMs?: readonly [number, number];
  /** More of the functions' environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What the secret holds beside nothing. */
  readonly secret?: Readonly<Record<string, string>>;
}

export interface Installation {
  readonly database: Database;
  readonly queues: TestQueues;
  readonly pulseUrl: string;
  /** The environment of every function: for processes that run beside them. */
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly key: string;
  readonly api: TestApi;
  nameOf(name: FunctionName): string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Starts a run through the API and returns its id. */
  start(agent: string, input: unknown, process?: string): Promise<string>;
  /** What `GET /runs/{runId}` answers when the run has ended. */
  ended(runId: string, timeoutMs: number): Promise<RunView>;
  migrate(requestType?: "Create" | "Update" | "Delete", properties?: object): Promise<Answer>;
  /** As the schedule does every minute. */
  guard(): Promise<unknown>;
  pids(name: FunctionName): number[];
  ledger(): Promise<readonly LedgerEntry[]>;
  /** Stops feeding a function. */
  detach(name: FunctionName): Promise<void>;
  attach(name: FunctionName): Promise<void>;
  close(): Promise<void>;
}

export interface RunView {
  readonly runId: string;
  readonly status: string;
  readonly output: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
}

const bundles = new Map<string, Promise<string>>();
/** Built once for the same agents. */
function built(agents: readonly string[]): Promise<string> {
  const key = agents.join(",");
  const known = bundles.get(key) ?? build(agents);
  bundles.set(key, known);
  return known;
}

async function build(agents: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toren-aws-"));
  const gathered = join(folder, "agents");
  await mkdir(gathered);
  for (const path of agents)
    await cp(join(ROOT, path), join(gathered, path.split("/").at(-1) ?? ""), { recursive: true });
  const out = join(folder, "dist");
  await buildFunctions({ agents: gathered, out });
  return out;
}

export async function install(options: InstallationOptions): Promise<Installation> {
  const undo: (() => Promise<unknown>)[] = [];
  try {
    return await make(options, undo);
  } catch (e) {
    await undone(undo);
    throw e;
  }
}

const undone = async (undo: readonly (() => Promise<unknown>)[]): Promise<void> => {
  for (const one of undo.toReversed()) await one().catch(() => {});
};

async function make(options: InstallationOptions, undo: (() => Promise<unknown>)[]): Promise<Installation> {
  const id = `toren-${randomUUID().slice(0, 8)}`;
  const nameOf = (name: FunctionName): string => `${id}-${name}`;
  const db = await testDatabase();
  undo.push(() => db.drop());
  const [min, max] = options.latencyMs ?? [5, 20];
  const model: ModelServer = await startModelServer({ port: 0, minLatencyMs: min, maxLatencyMs: max });
  undo.push(() => model.close());
  const queues = await createQueues(960);
  undo.push(() => queues.drop());
  const dist = await built(options.agents);
  const { environment, pulseUrl, pulseArn, keySecret } = await surroundings(id, db.url, model.url, queues, options);
  for (const name of Object.keys(TIMEOUT_S) as FunctionName[]) {
    const settings = { name: nameOf(name), folder: join(dist, name), environment, timeoutS: TIMEOUT_S[name] };
    await createFunction(settings);
    undo.push(() => deleteFunction(nameOf(name)));
  }
  const migrate = migrator(nameOf("migrate"));
  const migrated = await migrate();
  if (migrated.Status !== "SUCCESS") throw new Error(migrated.Reason);
  const secrets = new SecretsManagerClient({});
  const { SecretString: key = "" } = await secrets.send(new GetSecretValueCommand({ SecretId: keySecret }));
  const feeds = feeder(nameOf, queues, pulseArn);
  for (const name of ["tick", "task", "dead-letter", "guardian"] as const) await feeds.attach(name);
  undo.push(() => feeds.close());
  const api = await createApi(id, nameOf("api"));
  undo.push(() => api.remove());
  const request: Installation["request"] = (method, path, body, headers = {}) =>
    fetch(new URL(path, api.url), {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    database: db.database,
    queues,
    pulseUrl,
    environment,
    folder: dist,
    key,
    api,
    nameOf,
    request,
    migrate,
    start: async (agent, input, process) => {
      const answer = await request("POST", "runs", { agent, input, ...(process === undefined ? {} : { process }) });
      const text = await answer.text();
      if (answer.status !== 201) throw new Error(`${answer.status}: ${text}`);
      return (JSON.parse(text) as { runId: string }).runId;
    },
    ended: async (runId, timeoutMs) => {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const answer = await request("GET", `runs/${runId}`);
        const run = (await answer.json()) as RunView;
        if (["completed", "failed", "cancelled"].includes(run.status)) return run;
        if (Date.now() > deadline) throw new Error(`run ${runId} is ${run.status} after ${timeoutMs} ms`);
        await sleep(250);
      }
    },
    guard: () => invoke(nameOf("guardian"), { source: "schedule" }),
    pids: (name) => processesOf(nameOf(name)),
    ledger: async () => (await (await fetch(new URL("/ledger", model.url))).json()) as LedgerEntry[],
    detach: feeds.detach,
    attach: feeds.attach,
    close: () => undone(undo),
  };
}

async function surroundings(
  id: string,
  databaseUrl: string,
  modelUrl: string,
  queues: TestQueues,
  options: InstallationOptions,
) {
  const [sqs, s3, scheduler, secrets] = [
    new SQSClient({}),
    new S3Client({ forcePathStyle: true }),
    new SchedulerClient({}),
    new SecretsManagerClient({}),
  ];
  const { CreateQueueCommand } = await import("@aws-sdk/client-sqs");
  const { QueueUrl: pulseUrl = "" } = await sqs.send(
    new CreateQueueCommand({ QueueName: `${id}-pulse`, Attributes: { VisibilityTimeout: "120" } }),
  );
  await s3.send(new CreateBucketCommand({ Bucket: id }));
  await scheduler.send(new CreateScheduleGroupCommand({ Name: id }));
  const secret = async (name: string, SecretString: string): Promise<string> => {
    const { ARN = "" } = await secrets.send(new CreateSecretCommand({ Name: `${id}-${name}`, SecretString }));
    return ARN;
  };
  const keySecret = await secret("key", randomText(32));
  const urls = QUEUE_NAMES.map((name) => [
    `TOREN_QUEUE_${name.replace("-", "_").toUpperCase()}_URL`,
    queues.urls[name],
  ]);
  const environment: Record<string, string> = {
    ...Object.fromEntries(urls),
    TOREN_QUEUE_DEAD_URL: queues.deadUrl,
    TOREN_QUEUE_PULSE_URL: pulseUrl,
    DATABASE_URL: databaseUrl,
    TOREN_GENERATION: "1",
    TOREN_SCHEDULE_GROUP: id,
    TOREN_TIMER_ROLE_ARN: "arn:aws:iam::000000000000:role/toren-timers",
    TOREN_TIMER_QUEUE_ARN: await arnOf(sqs, queues.urls.ticks),
    TOREN_FILES_BUCKET: id,
    TOREN_SECRET_ARN: await secret("keys", JSON.stringify(options.secret ?? { OPENAI_API_KEY: "rules" })),
    TOREN_API_KEY_SECRET_ARN: keySecret,
    OPENAI_BASE_URL: modelUrl,
    AWS_ENDPOINT_URL: process.env.AWS_ENDPOINT_URL ?? "",
    AWS_ENDPOINT_URL_S3: process.env.AWS_ENDPOINT_URL_S3 ?? "",
    ...options.environment,
  };
  return { environment, keySecret, pulseUrl, pulseArn: await arnOf(sqs, pulseUrl) };
}

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomText = (length: number): string =>
  [...randomBytes(length)].map((byte) => LETTERS.charAt(byte % LETTERS.length)).join("");

/** Calls the custom resource as CloudFormation does, which is told of the end by a PUT. */
function migrator(functionName: string): Installation["migrate"] {
  return async (RequestType = "Create", properties = {}) => {
    let put = "";
    const server = createServer((request, response) => {
      request.on("data", (chunk) => {
        put += String(chunk);
      });
      request.on("end", () => response.end());
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (typeof address !== "object" || address === null) throw new Error("a listening server has an address");
    try {
      await invoke(functionName, {
        RequestType,
        ResponseURL: `http://127.0.0.1:${address.port}/answer`,
        StackId: "arn:aws:cloudformation:us-east-1:000000000000:stack/Toren/1",
        RequestId: randomUUID(),
        LogicalResourceId: "Migrate",
        ResourceType: "Custom::TorenMigrate",
        ResourceProperties: { Code: "hash", ...properties },
      });
      return JSON.parse(put) as Answer;
    } finally {
      server.close();
    }
  };
}

function feeder(nameOf: (name: FunctionName) => string, queues: TestQueues, pulseArn: string) {
  const sqs = new SQSClient({});
  const mappings = new Map<FunctionName, Mapping[]>();
  const sources: Partial<Record<FunctionName, readonly (readonly [url: string | null, batch: number])[]>> = {
    tick: [[queues.urls.ticks, 10]],
    task: [
      [queues.urls["tasks-short"], 10],
      [queues.urls["tasks-solo"], 1],
    ],
    "dead-letter": [[queues.deadUrl, 10]],
    guardian: [[null, 1]],
  };
  const attach = async (name: FunctionName): Promise<void> => {
    const made: Mapping[] = [];
    for (const [url, batch] of sources[name] ?? [])
      made.push(await consumeFrom(nameOf(name), url === null ? pulseArn : await arnOf(sqs, url), batch));
    mappings.set(name, made);
  };
  const detach = async (name: FunctionName): Promise<void> => {
    for (const mapping of mappings.get(name) ?? []) await mapping.remove();
    mappings.delete(name);
  };
  const close = async (): Promise<void> => {
    for (const name of Array.from(mappings.keys())) await detach(name);
  };
  return { attach, detach, close };
}
