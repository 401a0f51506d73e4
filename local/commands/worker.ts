// toren worker: works on runs, without an API. Its agents' code must have been registered by `toren dev` or `toren migrate`.
import { resolve } from "node:path";
import type { Command } from "commander";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { TASKS_PER_WORKER } from "../../shared/core/limits.ts";
import { chooseModel, startDemoModel } from "../client/models.ts";
import { composeLaptop, type Laptop } from "../compose.ts";
import { leaseMsIn } from "../settings.ts";
import { prepareState, stateFolderOf } from "../state.ts";
import { createLog } from "../terminal/log.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { untilInterrupted } from "../terminal/wait.ts";
import { startWork } from "../work.ts";
import { type Context, EXIT, parseCount, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly model?: string;
  readonly agents: string;
  readonly tasks?: number;
  readonly untilInputEnds?: boolean;
  readonly json?: boolean;
}

export const workerCommand = (context: Context): Command =>
  subcommand("worker", "work on runs, without an API")
    .option("--model <name>", "as the server has it: `provider/name` for every role, or `demo`")
    .option("--agents <folder>", "where the agents are", "agents")
    .option("--tasks <n>", `tasks that it works on at once (default: ${TASKS_PER_WORKER})`, parseCount)
    .option("--until-input-ends", "stop when the standard input ends, too: for who starts it beside")
    .action((options: Options) => context.run(options.json, () => work(context, options)));

async function work({ terminal }: Context, options: Options): Promise<number> {
  const choice = chooseModel(options.model, terminal.env, false);
  const demo = choice.demo ? await startDemoModel(terminal.env) : null;
  try {
    const log = createLog(terminal.err);
    const laptop = await compose(terminal, options, choice.model, demo?.env ?? terminal.env, log);
    const working = startWork(laptop, log, options.tasks);
    try {
      const agents = laptop.agents.names();
      if (options.json) writeJson(terminal, { pid: process.pid, agents });
      else say(terminal, `Worker ${process.pid} serves ${agents.join(", ")}. ${choice.notice} Ctrl-C stops it.`);
      await untilInterrupted({ interrupted: options.untilInputEnds ? orInputEnds(terminal) : terminal.interrupted });
      if (!options.json) say(terminal, "\nStopping: what runs comes to a step boundary. Ctrl-C again doesn't wait.");
    } finally {
      await working.close();
      await laptop.close();
    }
    return EXIT.done;
  } finally {
    await demo?.close();
  }
}

function orInputEnds(terminal: Terminal): AbortSignal {
  const ended = new AbortController();
  const end = (): void => ended.abort("the standard input ended");
  terminal.readInput().then(end, end);
  return AbortSignal.any([terminal.interrupted, ended.signal]);
}

async function compose(
  terminal: Terminal,
  options: Options,
  model: string | null,
  env: NodeJS.ProcessEnv,
  log: ReturnType<typeof createLog>,
): Promise<Laptop> {
  const stateFolder = stateFolderOf(terminal.env, terminal.workingFolder);
  await prepareState(stateFolder);
  const laptop = await composeLaptop({
    stateFolder,
    agentsFolder: resolve(terminal.workingFolder, options.agents),
    databaseUrl: terminal.env.DATABASE_URL,
    model,
    env,
    log,
    role: "worker",
    onProgress: (text) => say(terminal, text),
    ...leaseMsIn(terminal.env),
  });
  for (const problem of laptop.problems) say(terminal, problemText(problem));
  if (laptop.agents.names().length > 0) return laptop;
  await laptop.close();
  throw new TorenError("agent.invalid", `No agent in ${options.agents}/ can be served.`);
}
