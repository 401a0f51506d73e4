// A state folder for one performance: of the demo, or of a run whose workers are killed. What an earlier one left in it goes, and nobody else may be at it.
import { access, rm } from "node:fs/promises";
import { join } from "node:path";
import { openEmbedded } from "../shared/adapters/database/embedded.ts";
import { TorenError } from "../shared/core/errors.ts";
import { isAlive } from "./client/alive.ts";
import { readServer } from "./state.ts";

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
