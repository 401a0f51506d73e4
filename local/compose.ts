// The laptop's composition: which adapter stands behind each port. Twin: functions/aws.ts.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { httpDeps } from "../functions/http-deps.ts";
import type { OpenOptions } from "../shared/adapters/database/connect.ts";
import { openEmbedded } from "../shared/adapters/database/embedded.ts";
import { createNotices } from "../shared/adapters/database/notices.ts";
import { openUrl } from "../shared/adapters/database/url.ts";
import { createPostgresFiles } from "../shared/adapters/files/postgres.ts";
import { createPostgresFlow } from "../shared/adapters/flow/postgres.ts";
import { createLiveIn, createLiveOut } from "../shared/adapters/live/postgres.ts";
import { createModels } from "../shared/adapters/model/models.ts";
import { createPostgresQueue } from "../shared/adapters/queue/postgres.ts";
import { depthsOf } from "../shared/adapters/queue/postgres-depth.ts";
import { sealerBy } from "../shared/adapters/sealer/aes-gcm.ts";
import { createEnvSecrets } from "../shared/adapters/secrets/env.ts";
import { createDeployments } from "../shared/adapters/store/deployments.ts";
import { checkSchemas, migrate } from "../shared/adapters/store/migrate.ts";
import { createStore } from "../shared/adapters/store/postgres.ts";
import { createPostgresTimers } from "../shared/adapters/timers/postgres.ts";
import { withModel } from "../shared/authoring/define-agent.ts";
import type { LoadProblem } from "../shared/authoring/problem.ts";
import { TorenError } from "../shared/core/errors.ts";
import { APPEND_BOUNDS_S, createHistogram } from "../shared/core/histogram.ts";
import { LEASE_MS } from "../shared/core/limits.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { createHolds } from "../shared/engine/holds.ts";
import { sameSecret } from "../shared/http/auth.ts";
import type { HttpDeps } from "../shared/http/deps.ts";
import type { AgentDefinition, Deployed } from "../shared/ports/agents.ts";
import type { Database } from "../shared/ports/database.ts";
import type { Deployments } from "../shared/ports/deployments.ts";
import type { Caller } from "../shared/ports/keys.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Model } from "../shared/ports/model.ts";
import { consoleFiles } from "./console-files.ts";
import { loadAgents } from "./load/load-agents.ts";
import { createAgents, type ReplaceableAgents } from "./load/registry.ts";
import { saidIfSlow } from "./said-if-slow.ts";

export interface LaptopOptions {
  readonly stateFolder: string;
  /** Null: nothing is served, runs are only read. */
  readonly agentsFolder: string | null;
  /** Undefined: the embedded Postgres of the state folder. */
  readonly databaseUrl?: string | undefined;
  /** `provider/name` that answers for every role; null: each role's own. */
  readonly model: string | null;
  /** What providers and agents see of the environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** A deployer migrates and registers the agents' code as generations; a worker only looks its own up (I7). */
  readonly role: "deployer" | "worker";
  readonly leaseMs?: number;
  /** Models in code, by their whole names: of tests. */
  readonly scripted?: Readonly<Record<string, Model>>;
  /** Told what takes long. */
  onProgress?(text: string): void;
}

export interface Laptop {
  readonly engine: EngineDeps;
  readonly database: Database;
  readonly agents: ReplaceableAgents;
  /** Of agents that couldn't be loaded; the others are served. */
  readonly problems: readonly LoadProblem[];
  http(key: string): HttpDeps;
  /** Whether this is the code that is served: `agent` is as its files say, without the laptop's one model. */
  serves(agent: AgentDefinition): boolean;
  /** A reload's new code, as the next generation. */
  deploy(agent: AgentDefinition): Promise<Deployed>;
  /** A reload's agent whose files don't make one now. Code of it that is served goes on being served. */
  refuse(name: string, problems: readonly LoadProblem[]): void;
  /** Lets go of the database. Work has stopped before. */
  close(): Promise<void>;
}

/** `databaseUrl` undefined: the embedded Postgres of the state folder. */
export function openDatabase(
  stateFolder: string,
  databaseUrl: string | undefined,
  how: OpenOptions,
): Promise<Database> {
  return databaseUrl ? openUrl(databaseUrl, how) : openEmbedded(stateFolder, how);
}

/** @throws TorenError when the database can't be used, a worker's code was never registered, or TOREN_ENCRYPTION_KEYS holds no keys. */
export async function composeLaptop(options: LaptopOptions): Promise<Laptop> {
  const { stateFolder, databaseUrl, onProgress } = options;
  const sealer = await sealerBy(createEnvSecrets(options.env));
  const how = onProgress === undefined ? {} : { onProgress };
  const opening = openDatabase(stateFolder, databaseUrl, how);
  const database = await (databaseUrl ? opening : saidIfSlow(whatOpens(stateFolder), onProgress, opening));
  try {
    return await composeOver({ ...database, sealer }, options);
  } catch (e) {
    await database.close();
    throw e;
  }
}

const whatOpens = (stateFolder: string): string =>
  existsSync(join(stateFolder, "postgres"))
    ? "Starting the embedded Postgres …"
    : "Making a Postgres database in the state folder, which has none yet …";

/** Each agent's as it was loaded last. */
function problemsFrom(first: readonly LoadProblem[]): Pick<Laptop, "refuse"> & { problems(): readonly LoadProblem[] } {
  let problems = first;
  return {
    problems: () => problems,
    refuse: (name, now) => {
      problems = [...problems.filter(({ agent }) => agent !== name), ...now];
    },
  };
}

async function composeOver(database: Database, options: LaptopOptions): Promise<Laptop> {
  const { log, leaseMs = LEASE_MS } = options;
  const loaded = await saidIfSlow("Loading agents …", options.onProgress, loadFrom(options));
  const deployments = createDeployments(database);
  const deploying = deployed(database, deployments, loaded.agents, options.role);
  const agents = await saidIfSlow("Bringing the database's schemas to this version …", options.onProgress, deploying);

  const appends = createHistogram(APPEND_BOUNDS_S);
  const store = createStore(database, { appended: (ms) => appends.add(ms / 1_000) });
  const { queue, live, watching, hearNoMore } = hearing(database, log);
  const { flow, keeper } = createHolds({
    streams: store.streams,
    flow: createPostgresFlow(database),
    leaseMs,
    log,
    live,
    elapsedMs: () => performance.now(),
    random: Math.random,
  });
  const engine: EngineDeps = {
    store,
    queue,
    timers: createPostgresTimers(queue),
    keeper,
    agents,
    live,
    log,
    leaseMs,
    files: createPostgresFiles(database),
    flow,
    models: createModels({ env: options.env, scripted: options.scripted ?? {} }),
    uuid: randomUUID,
    random: Math.random,
    sleep,
  };
  const { problems, refuse } = problemsFrom(loaded.problems);
  return {
    engine,
    database,
    agents,
    get problems() {
      return problems();
    },
    http: (key) =>
      httpDeps({
        engine,
        live: watching,
        problems,
        console: consoleFiles(),
        database,
        queues: () => depthsOf(database),
        appends,
        knows: async (given) => ((await sameSecret(given, key)) ? DEV_KEY : null),
      }),
    serves: (agent) => agents.get(agent.name)?.agent.codeHash === overridden(agent, options.model).codeHash,
    deploy: async (agent) => {
      const own = overridden(agent, options.model);
      await migrate(database, [own.name]);
      const deployed = await registered(deployments)(own);
      agents.replace(deployed);
      refuse(own.name, []);
      return deployed;
    },
    refuse,
    close: async () => {
      keeper.close();
      await hearNoMore();
      await database.close();
    },
  };
}

async function deployed(
  database: Database,
  deployments: Deployments,
  loaded: readonly AgentDefinition[],
  role: LaptopOptions["role"],
): Promise<ReplaceableAgents> {
  const names = loaded.map((agent) => agent.name);
  if (role === "deployer") await migrate(database, names);
  else await checkSchemas(database, names);
  const generation = role === "deployer" ? registered(deployments) : lookedUp(deployments);
  return createAgents(await Promise.all(loaded.map(generation)));
}

/** What hears of others by notifications, over one connection. */
function hearing(database: Database, log: Log) {
  const notices = createNotices(database, log);
  const queue = createPostgresQueue({ database, log, notices });
  const live = createLiveOut({ database, notices });
  const watching = createLiveIn({ database, notices });
  const hearNoMore = async (): Promise<void> => {
    await Promise.all([live.close(), watching.close(), queue.close()]);
    await notices.close();
  };
  return { queue, live, watching, hearNoMore };
}

export const cacheFolderOf = (stateFolder: string): string => join(stateFolder, "cache");

async function loadFrom({ agentsFolder, stateFolder, env, model }: LaptopOptions) {
  if (agentsFolder === null) return { agents: [], problems: [] };
  const { agents, problems } = await loadAgents(agentsFolder, { env, cacheFolder: cacheFolderOf(stateFolder) });
  return { agents: agents.map((agent) => overridden(agent, model)), problems };
}

const overridden = (agent: AgentDefinition, model: string | null): AgentDefinition =>
  model === null ? agent : withModel(agent, model);

const registered =
  (deployments: Deployments) =>
  async (agent: AgentDefinition): Promise<Deployed> => ({
    agent,
    generation: await deployments.register(agent.name, agent.codeHash),
  });

const lookedUp =
  (deployments: Deployments) =>
  async (agent: AgentDefinition): Promise<Deployed> => {
    const generation = await deployments.generationOf(agent.name, agent.codeHash);
    if (generation !== null) return { agent, generation };
    const say = `This code of agent "${agent.name}" was never registered: run \`toren migrate\` with it, or start \`toren dev\`. --model is part of the code.`;
    throw new TorenError("agent.not_registered", say);
  };

/** Who acts, where nobody else is named. */
const DEV_KEY: Caller = { keyId: null, name: "dev key", scopes: ["admin"], agents: null };

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {});
