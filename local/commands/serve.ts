// toren serve: a server of yours over a Postgres of yours: API, console and worker, no reload. Whoever deploys runs `toren migrate` first; a server registers no code.
import { resolve } from "node:path";
import type { Command } from "commander";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { TASKS_PER_WORKER } from "../../shared/core/limits.ts";
import { isKey } from "../../shared/http/auth.ts";
import { chooseModel, startDemoModel } from "../client/models.ts";
import { UsageError } from "../client/usage-error.ts";
import { composeLaptop, type Laptop } from "../compose.ts";
import { type Listening, listen } from "../listen.ts";
import { leaseMsIn } from "../settings.ts";
import { ensureKey, prepareState, stateFolderOf } from "../state.ts";
import { createLog } from "../terminal/log.ts";
import { mark, styleOf } from "../terminal/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { untilInterrupted } from "../terminal/wait.ts";
import { startWork, type Work } from "../work.ts";
import { type Context, EXIT, parseCount, parsePort, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly host: string;
  readonly port: number;
  readonly worker: boolean;
  readonly model?: string;
  readonly agents: string;
  readonly tasks?: number;
  readonly json?: boolean;
}

const HOST_DEFAULT = "127.0.0.1";
const PORT_DEFAULT = 7400;

export const serveCommand = (context: Context): Command =>
  subcommand("serve", "serve agents over a Postgres of yours: API, console, worker")
    .option("--host <address>", "address to listen on; 0.0.0.0: all of them", HOST_DEFAULT)
    .option("--port <n>", "port of the API; 0 takes a free one", parsePort, PORT_DEFAULT)
    .option("--no-worker", "only serve the API: `toren worker` works on runs")
    .option("--model <name>", "as `toren migrate` had it: `provider/name` for every role, or `demo`")
    .option("--agents <folder>", "where the agents are", "agents")
    .option("--tasks <n>", `tasks that it works on at once (default: ${TASKS_PER_WORKER})`, parseCount)
    .action((options: Options) => context.run(options.json, () => serve(context, options)));

async function serve({ terminal }: Context, options: Options): Promise<number> {
  const { env, workingFolder } = terminal;
  if (!env.DATABASE_URL)
    throw new UsageError("`toren serve` needs DATABASE_URL: a Postgres of yours. `toren dev` brings one along.");
  const stateFolder = stateFolderOf(env, workingFolder);
  await prepareState(stateFolder);
  const key = await keyFor(env.TOREN_API_KEY, stateFolder);
  const choice = chooseModel(options.model, env, false);
  const demo = choice.demo ? await startDemoModel(env) : null;
  const log = createLog(terminal.err);
  try {
    const laptop = await composeLaptop({
      stateFolder,
      agentsFolder: resolve(workingFolder, options.agents),
      databaseUrl: env.DATABASE_URL,
      model: choice.model,
      env: demo?.env ?? env,
      log,
      role: "worker",
      onProgress: (text) => say(terminal, text),
      ...leaseMsIn(env),
    });
    let listening: Listening | undefined;
    let work: Work | undefined;
    try {
      checkAgents(laptop, options);
      listening = await listen(laptop.http(key), options.port, options.host);
      if (options.worker) work = startWork(laptop, log, options.tasks);
      announce(terminal, options, laptop, listening.url, choice.notice);
      await untilInterrupted(terminal);
      if (!options.json) say(terminal, "\nStopping: what runs comes to a step boundary. Ctrl-C again doesn't wait.");
    } finally {
      // Nobody new comes in while work lets go.
      await listening?.close();
      await work?.close();
      await laptop.close();
    }
    return EXIT.done;
  } finally {
    await demo?.close();
  }
}

/** The given one, else that of the state folder, which its owner alone can read. */
async function keyFor(given: string | undefined, stateFolder: string): Promise<string> {
  if (!given) return await ensureKey(stateFolder);
  if (isKey(given)) return given;
  throw new UsageError("TOREN_API_KEY is no key of Toren's: `toren_`, 32 letters and digits, and a checksum of six.");
}

function checkAgents(laptop: Laptop, { agents }: Options): void {
  if (laptop.problems.length > 0)
    throw new TorenError("agent.invalid", `Not served:\n  ${laptop.problems.map(problemText).join("\n  ")}`);
  if (laptop.agents.names().length === 0) throw new TorenError("agent.invalid", `There is no agent in ${agents}/.`);
}

function announce(terminal: Terminal, options: Options, laptop: Laptop, url: string, models: string): void {
  const agents = laptop.agents.names().map((name) => ({ name, generation: laptop.agents.get(name)?.generation ?? 0 }));
  if (options.json) {
    writeJson(terminal, { url, pid: process.pid, agents, worker: options.worker });
    return;
  }
  const style = styleOf(terminal.err);
  const row = (name: string, text: string): string => `  ${style.dim(name.padEnd(9))} ${text}`;
  say(
    terminal,
    [
      `${mark("done", style)} ${style.bold("toren serve")}  ${style.cyan(url)}`,
      row("agents", agents.map((a) => `${a.name} ${style.dim(`generation ${a.generation}`)}`).join(", ")),
      row("models", models),
      row("key", terminal.env.TOREN_API_KEY ? "TOREN_API_KEY" : "in the state folder: key"),
      ...(options.worker ? [] : [row("worker", "none here: start `toren worker`")]),
      "",
    ].join("\n"),
  );
}
