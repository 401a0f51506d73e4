// A crew whose model server and workers are processes of their own, as on a machine: what kills, pauses and outages do to it is real.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { composeLaptop, type Laptop } from "../../local/compose.ts";
import type { LedgerEntry } from "../../local/model-server/ledger.ts";
import { startWorker, type Worker } from "../../local/worker-process.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { silentLog } from "../support/log.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";

export const AGENT = "crew";
/** The shortest that a worker takes. */
export const LEASE_MS = 1_500;

const FILES: Readonly<Record<string, string>> = {
  "agent.yaml": `name: ${AGENT}
description: Three in parallel that each charge something, then a step, then one that sums up.
env: [CREW_EFFECTS]
defaults: { model: openai/rules }
roles:
  digger: { system: You charge for a topic., tools: [charge] }
  writer: { system: You sum up. }
`,
  "tools.ts": `import { mkdirSync, writeFileSync } from "node:fs";
import { defineTool } from "toren";
import * as z from "zod";

export const charge = defineTool({
  description: "Charges for something.",
  input: z.object({ note: z.string() }),
  effects: "external",
  idempotency: "keyed",
  approval: "never",
  handler: ({ note }, ctx) => {
    const folder = ctx.env.CREW_EFFECTS;
    mkdirSync(folder, { recursive: true });
    writeFileSync(folder + "/" + ctx.idempotencyKey, note + "\\n", { flag: "a" });
    return "charged: " + note;
  },
});
`,
  "workflows/main.ts": `import { defineWorkflow } from "toren";

export default defineWorkflow(async (ctx) => {
  const topics = ["apples", "pears", "plums"];
  const { results } = await ctx.wave("dig", topics.map((topic) => ctx.task("digger", "Charge for " + topic + " of " + ctx.input)));
  const stamp = await ctx.step("stamp", async () => "stamped " + results.length);
  return await ctx.ask("writer", stamp + ": " + results.map((r) => r.output).join(" "));
});
`,
};

export interface Crew {
  readonly folder: string;
  readonly laptop: Laptop;
  /** A model server's answers take from 80 to 300 ms. */
  ledger(): Promise<readonly LedgerEntry[]>;
  worker(): Promise<Worker>;
  /** What workers have logged, a JSON object a line. */
  logged(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  start(input: string): Promise<string>;
  run(runId: string): Promise<RunRow>;
  ended(runIds: readonly string[], timeoutMs: number): Promise<RunRow[]>;
  sql<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  /** Notes of the outside world by idempotency key. */
  effects(): Promise<string[]>;
  /** Log and ledger agree. Throws what is wrong. `distinct`: questions of different runs differ; true by default. */
  expectSound(runIds: readonly string[], how?: { distinct: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** `files` by path, instead of the crew's own. `provider`: what leads to its model, instead of a model server of its own. */
export async function createCrew(
  databaseUrl: string,
  files: Readonly<Record<string, string>> = FILES,
  provider: Readonly<Record<string, string>> | null = null,
): Promise<Crew> {
  const folder = await mkdtemp(join(tmpdir(), "toren-crew-"));
  await chmod(folder, 0o755);
  const agentsFolder = join(folder, "agents");
  await writeAgent(join(agentsFolder, AGENT), files);
  const logFile = join(folder, "workers.log");
  const workers: Worker[] = [];
  const model = provider === null ? await startModel(join(folder, "ledger")) : null;
  const env = {
    PATH: process.env.PATH,
    TOREN_HOME: join(folder, "state"),
    DATABASE_URL: databaseUrl,
    TOREN_LEASE_MS: String(LEASE_MS),
    ...(provider ?? { OPENAI_BASE_URL: model?.url ?? "", OPENAI_API_KEY: "rules" }),
    CREW_EFFECTS: join(folder, "effects"),
  };
  const laptop = await deployed(agentsFolder, env);
  const { store } = laptop.engine;
  const run = async (runId: string): Promise<RunRow> => {
    const row = await store.runs.get(AGENT, runId);
    if (row === null) throw new Error(`there is no run ${runId}`);
    return row;
  };
  const crew: Crew = {
    folder,
    laptop,
    ledger: async () =>
      model === null ? [] : ((await (await fetch(new URL("/ledger", model.url))).json()) as LedgerEntry[]),
    worker: async () => {
      const worker = await startWorker({ agentsFolder, model: null, tasks: 10, env, logFile });
      workers.push(worker);
      return worker;
    },
    logged: async () =>
      (await readFile(logFile, "utf8"))
        .split("\n")
        .flatMap((line) => (line.startsWith("{") && line.endsWith("}") ? [JSON.parse(line)] : [])),
    start: async (input) => {
      const started = await startRun(laptop.engine, { agent: AGENT, input });
      if (started.type === "refused") throw new Error(started.error.message);
      return started.runId;
    },
    run,
    ended: async (runIds, timeoutMs) => {
      const end = Date.now() + timeoutMs;
      for (;;) {
        const rows = await Promise.all(runIds.map(run));
        if (rows.every((row) => row.endedAt !== null)) return rows;
        if (Date.now() > end)
          throw new Error(`not within ${timeoutMs} ms: ${rows.map((r) => `${r.runId} ${r.status}`).join(", ")}`);
        await pause(100);
      }
    },
    sql: async <R extends object>(text: string, values: unknown[] = []) =>
      (await laptop.database.pool.query(text, values)).rows as R[],
    effects: async () => await readdir(env.CREW_EFFECTS).catch(() => []),
    expectSound: (runIds, how) => expectSound(crew, runIds, how?.distinct ?? true),
    close: async () => {
      for (const worker of workers) await worker.kill();
      await laptop.close();
      await model?.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return crew;
}

async function writeAgent(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** The agent's code registered, and a way to start and read runs; it works on none. */
async function deployed(
  agentsFolder: string,
  env: { readonly TOREN_HOME: string; readonly DATABASE_URL: string; readonly [name: string]: string | undefined },
): Promise<Laptop> {
  const laptop = await composeLaptop({
    stateFolder: env.TOREN_HOME,
    agentsFolder,
    databaseUrl: env.DATABASE_URL,
    model: null,
    env,
    log: silentLog,
    role: "deployer",
  });
  for (const problem of laptop.problems) throw new Error(JSON.stringify(problem));
  return laptop;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const MODEL_SERVER = new URL("../../local/model-server/main.ts", import.meta.url).pathname;

async function startModel(ledger: string): Promise<{ url: string; end(): Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, [MODEL_SERVER, "--ledger", ledger, "--latency", "80-300"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.stdout === null) throw new Error("no standard output");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const end = async (): Promise<void> => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  return { url: (JSON.parse(line) as { url: string }).url, end };
}

interface Books {
  readonly started: number;
  readonly answered: number;
  readonly repaid: number;
}

/**
 * Every recorded answer is in the ledger, and every request in the ledger had been announced in the log. Where questions of different runs differ, the
 * ledger holds as many different ones as there are answers; what was asked once more was in flight when somebody died.
 */
async function expectSound(crew: Crew, runIds: readonly string[], distinct: boolean): Promise<void> {
  const problems = checkLog(await dumpDatabase(crew.laptop.database.pool, AGENT));
  const [books] = await crew.sql<Books>(
    `SELECT count(*) FILTER (WHERE type = 'LlmCallStarted')::int AS started, count(*) FILTER (WHERE type = 'LlmCallCompleted')::int AS answered,
       (count(*) FILTER (WHERE type = 'LlmCallCompleted') - count(DISTINCT (run_id, stream_id, payload->>'stepId')) FILTER (WHERE type = 'LlmCallCompleted'))::int AS repaid
     FROM agent_${AGENT}.events WHERE run_id = ANY ($1)`,
    [runIds],
  );
  const paid = (await crew.ledger()).filter((entry) => entry.status === 200);
  const questions = new Set(paid.map((entry) => entry.requestDigest)).size;
  if (books === undefined || books.repaid !== 0) problems.push(`recorded answers were paid again: ${books?.repaid}`);
  if (distinct && books !== undefined && questions !== books.answered)
    problems.push(`the ledger has ${questions} questions, the log ${books.answered} answers`);
  if (books !== undefined && (paid.length > books.started || paid.length < books.answered))
    problems.push(`the ledger has ${paid.length} requests, the log ${books.started} starts`);
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Outputs without what differs between inputs. */
export const alike = (rows: readonly RunRow[]): string[] => [
  ...new Set(rows.map((row) => `${row.status} ${JSON.stringify(row.output).replaceAll(String(row.input), "INPUT")}`)),
];
