// The laptop's server: the HTTP API over the laptop's composition, with a worker beside it or without.
import { problemText } from "../shared/authoring/problem.ts";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { closeAll } from "./close-all.ts";
import { cacheFolderOf, composeLaptop, type Laptop, type LaptopOptions } from "./compose.ts";
import { listen } from "./listen.ts";
import type { AgentChange, AgentWatch } from "./reload.ts";
import { watchAgents } from "./reload.ts";
import { claimServer, ensureKey, prepareState, readServer, releaseServer, type ServerRecord } from "./state.ts";
import { startWork } from "./work.ts";

export interface ServerOptions extends Omit<LaptopOptions, "role"> {
  /** 0 takes a free one. */
  readonly port: number;
  /** Whether it works on runs, or only starts and reads them. */
  readonly worker: boolean;
  /** `dev` stays, `run` ends with its run; a `reader` is for one command alone, and isn't noted in the state folder. */
  readonly kind: ServerRecord["kind"] | "reader";
  /** Told of every change of an agent's files; undefined: they aren't watched. */
  readonly onAgentChange?: (change: AgentChange, generation: number | null) => void;
}

export interface RunningServer {
  readonly record: ServerRecord;
  readonly key: string;
  readonly laptop: Laptop;
  /** Work comes to a step boundary and lets go, readers are cut, the database is left: in this order, within a bound. Callable twice. */
  close(): Promise<void>;
}

/** @throws TorenError when a server runs in this state folder already, the port is taken, or the database can't be used. */
export async function startServer(
  options: ServerOptions,
  lives: (other: ServerRecord) => Promise<boolean>,
): Promise<RunningServer> {
  const { stateFolder } = options;
  await prepareState(stateFolder);
  const there = await readServer(stateFolder);
  if (there !== null && (await lives(there))) throw occupied(there);
  const key = await ensureKey(stateFolder);
  const opened: (() => Promise<void>)[] = [];
  try {
    const laptop = await composeLaptop({ ...options, role: "deployer" });
    opened.push(laptop.close);
    const listening = await listen(laptop.http(key), options.port);
    opened.push(listening.close);
    const kind = options.kind === "dev" ? "dev" : "run";
    const record: ServerRecord = { url: listening.url, pid: process.pid, model: options.model, kind };
    if (options.kind !== "reader") {
      if (!(await claimServer(stateFolder, record, lives))) throw occupied(await readServer(stateFolder));
      opened.push(() => releaseServer(stateFolder, record));
    }
    const work = options.worker ? startWork(laptop, options.log) : null;
    if (work !== null) opened.push(work.close);
    const watch = await watchFor(options, laptop);
    if (watch !== null) opened.push(watch.close);
    let closed: Promise<void> | undefined;
    return {
      record,
      key,
      laptop,
      close: () => {
        closed ??= closeAll(opened);
        return closed;
      },
    };
  } catch (e) {
    await closeAll(opened);
    throw e;
  }
}

const occupied = (other: ServerRecord | null): TorenError =>
  new TorenError(
    "server.unreachable",
    `A server runs here already: ${other?.url ?? "just started"} (pid ${other?.pid ?? "?"}). Use that one, or another state folder (TOREN_HOME).`,
  );

/** What was edited between the laptop's loading and the begin of the watching is a change too. */
export function watchFor(
  options: Pick<ServerOptions, "agentsFolder" | "onAgentChange" | "stateFolder" | "env" | "log">,
  laptop: Laptop,
): Promise<AgentWatch | null> {
  const { agentsFolder, onAgentChange, stateFolder, env } = options;
  if (onAgentChange === undefined || agentsFolder === null) return Promise.resolve(null);
  const onChange = async (change: AgentChange): Promise<void> => {
    try {
      const generation = change.type === "loaded" ? (await laptop.deploy(change.agent)).generation : null;
      if (change.type === "broken") laptop.refuse(change.name, change.problems);
      onAgentChange(change, generation);
    } catch (e) {
      options.log.error("a reload wasn't registered; save the file again", { error: messageOf(e) });
    }
  };
  const told = new Set(laptop.problems.map(problemText));
  return watchAgents(agentsFolder, { env, cacheFolder: cacheFolderOf(stateFolder) }, onChange, async (initial) => {
    for (const agent of initial.agents) if (!laptop.serves(agent)) await onChange({ type: "loaded", agent });
    const fresh = initial.problems.filter((problem) => !told.has(problemText(problem)));
    for (const [name, problems] of Map.groupBy(fresh, (problem) => problem.agent))
      await onChange({ type: "broken", name, problems });
  });
}
