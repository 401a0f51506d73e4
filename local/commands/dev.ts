// toren dev: the server of a working folder: API, worker and hot reload, until Ctrl-C.
import { relative, resolve } from "node:path";
import type { Command } from "commander";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { isAlive } from "../client/alive.ts";
import { chooseModel, type DemoModel, type ModelChoice, startDemoModel } from "../client/models.ts";
import type { AgentChange } from "../reload.ts";
import { saidIfSlow } from "../said-if-slow.ts";
import { type RunningServer, startServer } from "../server.ts";
import { leaseMsIn } from "../settings.ts";
import { stateFolderOf } from "../state.ts";
import { createLog } from "../terminal/log.ts";
import { mark, type Style, styleOf } from "../terminal/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { untilInterrupted } from "../terminal/wait.ts";
import { type Context, EXIT, parsePort, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly port?: number;
  readonly worker: boolean;
  readonly model?: string;
  readonly agents: string;
  readonly json?: boolean;
}

/** Tried first when no port is asked for, so that addresses stay the same from day to day. */
const PORT_DEFAULT = 7400;

export const devCommand = (context: Context): Command =>
  subcommand("dev", "serve the agents of this folder: API, worker, hot reload")
    .option(
      "--port <n>",
      `port of the API; 0 takes a free one (default: ${PORT_DEFAULT}, or a free one if it is taken)`,
      parsePort,
    )
    .option("--no-worker", "only serve the API: `toren worker` works on runs")
    .option("--model <name>", "`provider/name` for every role, or `demo`: the rule-based model server")
    .option("--agents <folder>", "where the agents are", "agents")
    .action((options: Options) => context.run(options.json, () => dev(context, options)));

async function dev({ terminal }: Context, options: Options): Promise<number> {
  const choice = chooseModel(options.model, terminal.env, false);
  const demo = choice.demo
    ? await saidIfSlow("Starting the demo model …", (text) => say(terminal, text), startDemoModel(terminal.env))
    : null;
  try {
    const server = await startAt(terminal, options, choice, demo);
    try {
      if (options.json) writeJson(terminal, { ...server.record, agents: agentsOf(server) });
      else say(terminal, banner(terminal, server, options, choice).join("\n"));
      await untilInterrupted(terminal);
      if (!options.json) say(terminal, "\nStopping: what runs comes to a step boundary. Ctrl-C again doesn't wait.");
    } finally {
      await server.close();
    }
    return EXIT.done;
  } finally {
    await demo?.close();
  }
}

async function startAt(
  terminal: Terminal,
  options: Options,
  choice: ModelChoice,
  demo: DemoModel | null,
): Promise<RunningServer> {
  const { env, workingFolder } = terminal;
  const start = (port: number): Promise<RunningServer> =>
    startServer(
      {
        stateFolder: stateFolderOf(env, workingFolder),
        agentsFolder: resolve(workingFolder, options.agents),
        databaseUrl: env.DATABASE_URL,
        model: choice.model,
        env: demo?.env ?? env,
        log: createLog(terminal.err),
        port,
        worker: options.worker,
        kind: "dev",
        onProgress: (text) => say(terminal, text),
        onAgentChange: (change, generation) => sayChange(terminal, change, generation),
        ...leaseMsIn(env),
      },
      isAlive,
    );
  if (options.port !== undefined) return start(options.port);
  return start(PORT_DEFAULT).catch((e) => {
    if (e instanceof TorenError && e.message.startsWith(`Port ${PORT_DEFAULT} is taken`)) return start(0);
    throw e;
  });
}

const agentsOf = (server: RunningServer) =>
  server.laptop.agents.names().map((name) => ({ name, generation: server.laptop.agents.get(name)?.generation ?? 0 }));

/** It signs in whoever follows it: the key is behind the `#`, which no server and no log ever sees. */
const consoleLink = ({ record, key }: RunningServer): string => `${record.url}/#key=${key}`;

function banner(terminal: Terminal, server: RunningServer, options: Options, choice: ModelChoice): string[] {
  const style = styleOf(terminal.err);
  const agents = agentsOf(server).map((a) => `${a.name} ${style.dim(`generation ${a.generation}`)}`);
  const folder = relative(terminal.workingFolder, stateFolderOf(terminal.env, terminal.workingFolder)) || ".";
  const row = (name: string, text: string): string => `  ${style.dim(name.padEnd(9))} ${text}`;
  return [
    `${mark("done", style)} ${style.bold("toren dev")}  ${style.cyan(server.record.url)}`,
    row("agents", agents.length === 0 ? style.yellow(`none in ${options.agents}/`) : agents.join(", ")),
    row("database", terminal.env.DATABASE_URL ? "DATABASE_URL" : `embedded Postgres in ${folder}/postgres`),
    row("models", choice.notice),
    row("console", style.cyan(consoleLink(server))),
    row("key", `${folder}/key`),
    ...(options.worker ? [] : [row("worker", "none here: start `toren worker`")]),
    ...server.laptop.problems.map((problem) => `  ${mark("failed", style)} ${problemText(problem)}`),
    "",
  ];
}

function sayChange(terminal: Terminal, change: AgentChange, generation: number | null): void {
  const style = styleOf(terminal.err);
  say(terminal, changeText(change, generation, style));
}

function changeText(change: AgentChange, generation: number | null, style: Style): string {
  switch (change.type) {
    case "loaded":
      return `${mark("done", style)} ${style.bold(change.agent.name)} reloaded: generation ${generation}`;
    case "broken": {
      const problems = change.problems.map((problem) => `\n  ${problemText(problem)}`).join("");
      return `${mark("failed", style)} ${style.bold(change.name)} can't be reloaded; the code before keeps running${problems}`;
    }
    case "blind":
      return `${mark("failed", style)} ${change.message} Restart to see changes.`;
  }
}
