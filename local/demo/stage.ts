// What the demo plays on: a state folder of its own, a copy of the agent that it may edit, the model's server, the database, the API. No worker yet.
import { createHash } from "node:crypto";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { type Api, createApi } from "../client/api.ts";
import { chooseModel, type DemoModel, type ModelChoice, providersIn, startDemoModel } from "../client/models.ts";
import { closeAll } from "../close-all.ts";
import { cacheFolderOf, type Laptop } from "../compose.ts";
import { loadAgent } from "../load/load-agents.ts";
import { clearDatabase, refuseIfInUse, serveOwn, startOwnWorker } from "../own-stage.ts";
import { prepareState, stateFolderOf } from "../state.ts";
import type { Worker } from "../worker-process.ts";
import { editPrompt } from "./edit.ts";

export interface StageOptions {
  /** `provider/name` for every role; undefined: the rule-based one. */
  readonly model: string | undefined;
  /** Runs of earlier demos stay beside this one. */
  readonly keep: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly workingFolder: string;
  say(label: string, text: string): void;
}

export interface Stage {
  readonly agent: string;
  readonly model: ModelChoice;
  /** Of the rule-based model's server; null: another model answers. */
  readonly modelPid: number | null;
  /** Relative to the working folder where that is shorter. */
  readonly stateFolder: string;
  readonly api: Api;
  readonly engine: Laptop["engine"];
  /** Every request to the model since its server started; null: it isn't ours. */
  ledger(): Promise<readonly { readonly status: number | null }[] | null>;
  startWorker(): Promise<Worker>;
  /** Edits the writer's prompt in the copy and registers what comes of it. */
  edit(): Promise<PromptEdit>;
  /** Everything that was started here or by `startWorker` ends, by its pid. */
  close(): Promise<void>;
}

export interface PromptEdit {
  readonly file: string;
  readonly line: number;
  readonly added: string;
  readonly generation: number;
}

export const AGENT_FOLDER = fileURLToPath(new URL("../../agents/research_crew", import.meta.url));
const AGENT = "research_crew";
const PROMPT = "prompts/writer.md";
/** At once in a worker. With fewer than there are researchers they don't all end together, and two of three can be recorded while the third is at work. */
export const DEMO_TASKS = 2;

/** @throws TorenError when the state folder is in use, the database can't be had, or the model isn't there. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const { env, workingFolder, say } = options;
  const stateFolder = join(stateFolderOf(env, workingFolder), "demo");
  const near = (path: string): string => shorter(relative(workingFolder, path), path);
  await prepareState(stateFolder);
  await refuseIfInUse(stateFolder, near(stateFolder));
  if (!options.keep && !env.DATABASE_URL) await clearDatabase(stateFolder, near(stateFolder));
  const agent = env.DATABASE_URL ? `${AGENT}_${hashOf(stateFolder)}` : AGENT;
  const agentsFolder = join(stateFolder, "agents");
  await copyAgent(agentsFolder, agent);
  const choice = chooseModel(options.model ?? "demo", env, false);
  const closing: (() => Promise<void>)[] = [];
  try {
    const demo = choice.demo ? await startDemoModel(env) : null;
    if (demo !== null) closing.push(demo.close);
    say("model", demo === null ? choice.notice : `pid ${demo.pid}: fixed rules, no language model; simulated costs`);
    const unspent = demo === null ? [] : providersIn(env);
    if (unspent.length > 0) say("not used", `${unspent.join(", ")} of the environment: only --model would use it`);
    const place = { stateFolder, agentsFolder, env: demo?.env ?? env };
    const server = await serveOwn({ ...place, model: choice.model, databaseUrl: env.DATABASE_URL, say });
    closing.push(server.close);
    const { laptop } = server;
    await demandAgent(laptop, agent, choice.model);
    const port = new URL(laptop.database.url).port || "5432";
    say(
      "database",
      env.DATABASE_URL ? "that of DATABASE_URL" : `embedded Postgres on port ${port}, in ${near(stateFolder)}`,
    );
    say("server", `${server.record.url}, in this process (pid ${process.pid})`);
    say("agent", `${agent}, generation ${laptop.agents.get(agent)?.generation}: a copy that may be edited`);
    return {
      agent,
      model: choice,
      modelPid: demo?.pid ?? null,
      stateFolder: near(stateFolder),
      api: createApi(server.record.url, server.key),
      engine: laptop.engine,
      ledger: async () => (demo === null ? null : await readLedger(demo)),
      startWorker: async () => {
        const worker = await startOwnWorker({ ...place, model: choice.model }, laptop.database.url, DEMO_TASKS);
        closing.push(worker.end);
        return worker;
      },
      edit: () => edit(place, laptop, agent, near),
      close: () => closeAll(closing),
    };
  } catch (e) {
    await closeAll(closing);
    throw e;
  }
}

interface Place {
  readonly stateFolder: string;
  readonly agentsFolder: string;
  /** With the way to the model in it. */
  readonly env: NodeJS.ProcessEnv;
}

const shorter = (a: string, b: string): string => (a !== "" && a.length < b.length ? a : b);
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 6);

/** In a database that others may use too it gets a name of its own: a new generation here must not be one for theirs. */
async function copyAgent(agentsFolder: string, name: string): Promise<void> {
  await rm(agentsFolder, { recursive: true, force: true });
  const folder = join(agentsFolder, name);
  const corpus = join(AGENT_FOLDER, "corpus"); // uploaded from where it is
  await cp(AGENT_FOLDER, folder, { recursive: true, filter: (path) => path !== corpus });
  if (name === AGENT) return;
  const yaml = join(folder, "agent.yaml");
  await writeFile(yaml, (await readFile(yaml, "utf8")).replace(/^name:.*$/m, `name: ${name}`));
}

async function demandAgent(laptop: Laptop, agent: string, model: string | null): Promise<void> {
  const broken = laptop.problems.filter((problem) => problem.agent === agent);
  if (broken.length > 0) throw new TorenError("agent.invalid", broken.map(problemText).join("\n  "));
  const resolved = model === null ? null : await laptop.engine.models.resolve(model);
  if (resolved?.ok === false) throw new TorenError(resolved.error.code, resolved.error.message);
}

async function readLedger({ env }: DemoModel): Promise<readonly { readonly status: number | null }[]> {
  const response = await fetch(new URL("/ledger", env.OPENAI_BASE_URL), { signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new TorenError("server.unreachable", `The model's ledger can't be read: ${response.status}.`);
  return (await response.json()) as { status: number | null }[];
}

async function edit(
  { agentsFolder, stateFolder, env }: Place,
  laptop: Laptop,
  agent: string,
  near: (path: string) => string,
): Promise<PromptEdit> {
  const folder = join(agentsFolder, agent);
  const path = join(folder, PROMPT);
  const { text, added, line } = editPrompt(await readFile(path, "utf8"));
  await writeFile(path, text);
  const loaded = await loadAgent(folder, { env, cacheFolder: cacheFolderOf(stateFolder) });
  if (loaded.agent === null) throw new TorenError("agent.invalid", loaded.problems.map(problemText).join("\n  "));
  const { generation } = await laptop.deploy(loaded.agent);
  return { file: near(path), line, added, generation };
}
