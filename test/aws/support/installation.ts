// The stack, deployed to the emulator once for all test files: real bundles in Lambda's own runtime, fed by SQS, behind an API Gateway, over a Postgres 17 of
// their own in which each function signs in as its own user with its own limit of connections. The model server is the test file's.
import { setTimeout as sleep } from "node:timers/promises";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { DatabaseUserOf } from "../../../cdk/connections.ts";
import { ACCOUNT, type Deployed, functionNamed, REGION } from "../../../local/aws/deploy.ts";
import type { FunctionName } from "../../../local/aws/fit-template.ts";
import { booksOf } from "../../../local/demo/books.ts";
import type { LedgerEntry } from "../../../local/model-server/ledger.ts";
import { type ModelServer, startModelServer } from "../../../local/model-server/server.ts";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import type { RunJson } from "../../../shared/http/run-json.ts";
import type { Database } from "../../../shared/ports/database.ts";
import type { QueueName } from "../../../shared/ports/queue.ts";
import { checkLog, dumpDatabase } from "../../support/log-checker.ts";
import { type RecordedCall, recordedCalls } from "./calls.ts";
import { deployOnce, fromSetup, urlFor } from "./deployment.ts";
import { invoke, processesOf } from "./functions.ts";

/** For the first file, which deploys: half a minute where nothing else runs. */
export const DEPLOY_MS = 8 * 60_000;

export interface Installation {
  readonly deployed: Deployed;
  /** As the server's superuser. */
  readonly database: Database;
  readonly key: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Starts a run through the API and returns its id. */
  start(agent: string, input: unknown, process?: string): Promise<string>;
  /** What `GET /runs/{runId}` answers when the run has ended, or whatever `until` says. */
  ended(runId: string, timeoutMs: number): Promise<RunJson>;
  /** As one of the functions' users, or the long worker's. */
  databaseUrl(user: DatabaseUserOf): string;
  queueUrl(name: QueueName | "pulse" | "dead-letters"): string;
  send(queue: QueueName | "pulse", body: string): Promise<void>;
  /** As the schedule does every minute. */
  guard(): Promise<unknown>;
  /** Processes that are, or were last, an environment of this function. */
  pids(name: FunctionName): number[];
  /** From now on answers of the model take so long; the ledger begins anew. */
  model(minLatencyMs: number, maxLatencyMs: number): Promise<void>;
  ledger(): Promise<readonly LedgerEntry[]>;
  /** Nothing was paid twice, the model's ledger says what the log says, and the log is sound. These are all runs since the ledger began. */
  expectBalanced(runs: readonly RunJson[]): Promise<void>;
  /** Calls of AWS by functions, as the emulator wrote them down, in order. */
  calls(): readonly RecordedCall[];
  sql<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  close(): Promise<void>;
}

export async function openInstallation(): Promise<Installation> {
  const url = fromSetup("TOREN_TEST_AWS_DATABASE");
  const { deployed, key } = await deployOnce();
  const database = await openUrl(url, { pool: 3 });
  let server: ModelServer | undefined;
  const model = async (minLatencyMs: number, maxLatencyMs: number): Promise<void> => {
    await server?.close();
    server = await startModelServer({
      port: Number(fromSetup("TOREN_TEST_AWS_MODEL_PORT")),
      minLatencyMs,
      maxLatencyMs,
    });
  };
  await model(5, 20);
  const sqs = new SQSClient({});
  const request: Installation["request"] = (method, path, body, headers = {}) =>
    fetch(new URL(path, deployed.apiUrl), {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const queueUrl: Installation["queueUrl"] = (name) => {
    const urls = deployed.resources.filter(({ type }) => type === "AWS::SQS::Queue").map((queue) => queue.physicalId);
    return urls.find((url) => url.endsWith(`-${name}`)) ?? fail(`no queue ${name} was deployed`);
  };
  const ledger: Installation["ledger"] = async () =>
    (await (await fetch(new URL("/ledger", server?.url))).json()) as LedgerEntry[];
  const sql: Installation["sql"] = async (text, values = []) => (await database.pool.query(text, values)).rows;
  return {
    deployed,
    database,
    key,
    request,
    databaseUrl: (user) => urlFor(url, user),
    queueUrl,
    model,
    ledger,
    sql,
    start: (agent, input, process) => start(request, { agent, input, ...(process === undefined ? {} : { process }) }),
    ended: (runId, timeoutMs) => ended(request, runId, timeoutMs),
    send: async (queue, MessageBody) => {
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(queue), MessageBody }));
    },
    guard: () => invoke(functionNamed(deployed, "guardian"), minuteOf(deployed)),
    calls: recordedCalls,
    pids: (name) => processesOf(functionNamed(deployed, name)),
    expectBalanced: async (runs) => balanced(database, await ledger(), runs),
    close: async () => {
      await server?.close();
      await database.close();
    },
  };
}

/** What EventBridge sends for the stack's rule, which gives its target no input of its own. */
function minuteOf({ resources }: Deployed): object {
  const rule = resources.find(({ type }) => type === "AWS::Events::Rule")?.physicalId;
  return {
    version: "0",
    id: crypto.randomUUID(),
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account: ACCOUNT,
    time: new Date().toISOString(),
    region: REGION,
    resources: [`arn:aws:events:${REGION}:${ACCOUNT}:rule/${rule}`],
    detail: {},
  };
}

const fail = (say: string): never => {
  throw new Error(say);
};

async function start(request: Installation["request"], body: object): Promise<string> {
  const answer = await request("POST", "runs", body);
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(`${answer.status}: ${text}`);
  return (JSON.parse(text) as { runId: string }).runId;
}

async function ended(request: Installation["request"], runId: string, timeoutMs: number): Promise<RunJson> {
  for (const deadline = Date.now() + timeoutMs; ; await sleep(250)) {
    const answer = await request("GET", `runs/${runId}`);
    const text = await answer.text();
    if (answer.status === 200) {
      const run = JSON.parse(text) as RunJson;
      if (["completed", "failed", "cancelled"].includes(run.status)) return run;
    }
    if (Date.now() > deadline)
      throw new Error(`run ${runId} hasn't ended after ${timeoutMs} ms: ${answer.status} ${text}`);
  }
}

async function balanced(database: Database, ledger: readonly LedgerEntry[], runs: readonly RunJson[]): Promise<void> {
  const problems: string[] = [];
  for (const agent of new Set(runs.map((run) => run.agent)))
    problems.push(...checkLog(await dumpDatabase(database.pool, agent)));
  const sum = (part: "modelCalls" | "unanswered" | "repaid"): number =>
    runs.reduce((all, { receipt }) => all + receipt[part], 0);
  const receipt = {
    replayed: 0,
    savedTokens: 0,
    savedUsd: 0,
    modelCalls: sum("modelCalls"),
    unanswered: sum("unanswered"),
    repaid: sum("repaid"),
  };
  const books = booksOf(ledger, receipt);
  // A question whose worker died before it was sent is in the log alone: announced, then never asked.
  const agree = books.repaid === 0 && books.ledger >= books.recorded && books.ledger <= books.recorded + books.inFlight;
  if (!agree) problems.push(`the books don't balance: ${JSON.stringify(books)}`);
  if (problems.length > 0) throw new Error(problems.join("\n"));
}
