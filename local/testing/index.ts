// The test kit for authors of agents: `import { testAgent } from "toren/testing"`. The agent's own code over the real engine, store and queue; only its
// models are scripted. It knows no test runner: jest, node:test and others alike.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDeployments } from "../../shared/adapters/store/deployments.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import type { Json } from "../../shared/core/json.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { AgentDefinition, RunMode } from "../../shared/ports/agents.ts";
import { loadAgent } from "../load/load-agents.ts";
import { createAgents } from "../load/registry.ts";
import { type Crew, createCrew } from "./crew.ts";
import { createScripts, type Script, type Scripts } from "./scripts.ts";
import { openTestDatabase } from "./test-database.ts";
import { createRun, type TestRun, torenError } from "./test-run.ts";

export type { Turn } from "../../shared/adapters/model/script.ts";
export type { Json } from "../../shared/core/json.ts";
export type { RunStatus } from "../../shared/ports/store.ts";
export type { Question, Script } from "./scripts.ts";
export type { TestRun } from "./test-run.ts";

export interface TestAgentOptions {
  /** What the roles' models answer, by role. A role without one must not ask: the test fails then. */
  readonly models?: Readonly<Record<string, Script>>;
  /** What `agent.yaml` may take under `env`; nothing else of the environment is seen there. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface StartOptions {
  /** `main` by default. */
  readonly process?: string;
  /** As `agent.yaml` says; another one is refused. */
  readonly mode?: RunMode;
  /** Texts to attach, by file name. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface TestAgent extends AsyncDisposable {
  /** Resolves when the run is created; the worker goes on with it at once. @throws TorenError as POST /runs refuses. */
  start(input: Json, options?: StartOptions): Promise<TestRun>;
  /** Questions that reached a model, of one role or of all, answered or not: each is one that a provider might bill. */
  modelCalls(role?: string): number;
  /** Ends the worker, drops the database, and lets go of the server. A second call waits for the first. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Loads the agent in the folder `dir` and gives it a worker and a database of its own, on a server that a test run shares: TEST_DATABASE_URL's, else an
 * embedded one in `.toren/test`. Disposing it ends the worker and drops the database.
 * @throws TorenError `agent.invalid` with all that is wrong in the folder; Error for a script of a role that isn't there.
 */
export async function testAgent(dir: string, options: TestAgentOptions = {}): Promise<TestAgent> {
  const cacheFolder = await mkdtemp(join(tmpdir(), "toren-testing-"));
  const removeCache = (): Promise<void> => rm(cacheFolder, { recursive: true, force: true });
  try {
    const scripts = createScripts(await loaded(dir, cacheFolder, options.env ?? {}), options.models ?? {});
    const { database, drop } = await openTestDatabase();
    try {
      const { agent } = scripts;
      await migrate(database, [agent.name]);
      const generation = await createDeployments(database).register(agent.name, agent.codeHash);
      const crew = createCrew({ database, agents: createAgents([{ agent, generation }]), agent: agent.name, scripts });
      return testAgentOf(scripts, crew, async () => {
        await crew.close();
        await drop();
        await removeCache();
      });
    } catch (e) {
      await drop();
      throw e;
    }
  } catch (e) {
    await removeCache();
    throw e;
  }
}

async function loaded(
  dir: string,
  cacheFolder: string,
  env: Readonly<Record<string, string>>,
): Promise<AgentDefinition> {
  const { agent, problems } = await loadAgent(dir, { env, cacheFolder });
  if (agent !== null) return agent;
  throw new TorenError("agent.invalid", problems.map(problemText).join("\n"));
}

function testAgentOf(scripts: Scripts, crew: Crew, close: () => Promise<void>): TestAgent {
  const { agent } = scripts;
  let closing: Promise<void> | null = null;
  return {
    start: async (input, { process, mode, files = {} } = {}) => {
      refuseOtherMode(agent, process ?? "main", mode);
      const { deps } = crew.worker;
      const request = { agent: agent.name, input, files: await attached(deps, files) };
      const started = await startRun(deps, process === undefined ? request : { ...request, process });
      if (started.type === "refused") throw torenError(started.error);
      return createRun(crew, scripts, agent.name, started.runId);
    },
    modelCalls: scripts.calls,
    [Symbol.asyncDispose]: () => {
      closing ??= close();
      return closing;
    },
  };
}

function refuseOtherMode(agent: AgentDefinition, process: string, mode: RunMode | undefined): void {
  const known = agent.processes.get(process);
  if (mode === undefined || known === undefined) return; // startRun says what is wrong with the name
  const own: RunMode = known.kind === "session" ? "session" : "task";
  if (mode !== own)
    throw new TorenError(
      "request.invalid",
      `Process "${process}" is of mode ${own}: agent.yaml says so, not the start.`,
    );
}

async function attached({ files }: EngineDeps, texts: Readonly<Record<string, string>>): Promise<string[]> {
  const ids: string[] = [];
  for (const [name, text] of Object.entries(texts))
    ids.push((await files.add({ name, mediaType: "text/plain", content: new TextEncoder().encode(text) })).id);
  return ids;
}
