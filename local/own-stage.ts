// One performance, of the demo or of a run whose workers are killed: a state folder of its own, from which goes what an earlier one left and where nobody else
// may be; a server on it that doesn't work; workers that can be killed.
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import { openEmbedded } from "../shared/adapters/database/embedded.ts";
import { TorenError } from "../shared/core/errors.ts";
import { isAlive } from "./client/alive.ts";
import { type RunningServer, startServer } from "./server.ts";
import { readServer } from "./state.ts";
import { troubleLog } from "./terminal/log.ts";
import { startWorker, type Worker } from "./worker-process.ts";

/** `name`: the folder as it is said. @throws TorenError when a server runs there. */
export async function refuseIfInUse(stateFolder: string, name: string): Promise<void> {
  const other = await readServer(stateFolder);
  if (other === null || !(await isAlive(other))) return;
  throw inUse(name, `a server with pid ${other.pid} runs there`);
}

const inUse = (name: string, why: string): TorenError =>
  new TorenError("server.unreachable", `${name} is in use: ${why}. End it, or use another TOREN_HOME.`);

/** The database that an earlier performance left. One whose server was left running is joined first: who leaves last ends it. */
export async function clearDatabase(stateFolder: string, name: string): Promise<void> {
  const pidFile = join(stateFolder, "postgres", "postmaster.pid");
  if (await exists(pidFile)) await (await openEmbedded(stateFolder)).close();
  if (await exists(pidFile)) throw inUse(name, "others use its database");
  await rm(join(stateFolder, "postgres"), { recursive: true, force: true });
  await rm(join(stateFolder, "worker.log"), { force: true });
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

export interface OwnPlace {
  readonly stateFolder: string;
  readonly agentsFolder: string;
  /** With the way to the model in it. */
  readonly env: NodeJS.ProcessEnv;
  /** `provider/name` for every role; null: each role's own. */
  readonly model: string | null;
}

/** A dead worker's streams stay its own for so long. Short, so that nobody has to wait for half a minute; long enough for a busy machine. */
export const OWN_LEASE_MS = 5_000;

/** `databaseUrl` undefined: a Postgres in the state folder. */
export const serveOwn = (
  place: OwnPlace & { readonly databaseUrl: string | undefined; say(label: string, text: string): void },
): Promise<RunningServer> => {
  const { say, ...where } = place;
  return startServer(
    {
      ...where,
      log: troubleLog((text) => say("trouble", text)),
      port: 0,
      worker: false,
      kind: "run",
      leaseMs: OWN_LEASE_MS,
      onProgress: (text) => say("database", text),
    },
    isAlive,
  );
};

/** `tasks`: at once; left out: as many as a worker does by default. */
export const startOwnWorker = (
  { stateFolder, agentsFolder, env, model }: OwnPlace,
  databaseUrl: string,
  tasks?: number,
): Promise<Worker> =>
  startWorker({
    agentsFolder,
    model,
    ...(tasks === undefined ? {} : { tasks }),
    env: { ...env, TOREN_HOME: stateFolder, DATABASE_URL: databaseUrl, TOREN_LEASE_MS: String(OWN_LEASE_MS) },
    logFile: join(stateFolder, "worker.log"),
  });
