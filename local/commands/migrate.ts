// toren migrate: brings the database's schemas to this version, and registers the agents' code as their newest generation.
import { resolve } from "node:path";
import type { Command } from "commander";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { chooseModel } from "../client/models.ts";
import { composeLaptop } from "../compose.ts";
import { prepareState, stateFolderOf } from "../state.ts";
import { troubleLog } from "../terminal/log.ts";
import { type Context, EXIT, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly model?: string;
  readonly agents: string;
  readonly json?: boolean;
}

export const migrateCommand = (context: Context): Command =>
  subcommand("migrate", "bring the database to this version, and register the agents' code")
    .option("--model <name>", "as the workers have it: it is part of the code")
    .option("--agents <folder>", "where the agents are", "agents")
    .action((options: Options) => context.run(options.json, () => migrate(context, options)));

async function migrate({ terminal }: Context, options: Options): Promise<number> {
  const { env, workingFolder } = terminal;
  const stateFolder = stateFolderOf(env, workingFolder);
  await prepareState(stateFolder);
  const laptop = await composeLaptop({
    stateFolder,
    agentsFolder: resolve(workingFolder, options.agents),
    databaseUrl: env.DATABASE_URL,
    model: chooseModel(options.model, env, false).model,
    env,
    log: troubleLog((text) => say(terminal, text)),
    role: "deployer",
    onProgress: (text) => say(terminal, text),
  });
  try {
    const agents = laptop.agents
      .names()
      .map((name) => ({ name, generation: laptop.agents.get(name)?.generation ?? 0 }));
    if (options.json) writeJson(terminal, { agents, problems: laptop.problems });
    else {
      const list = agents.map((agent) => `  ${agent.name}  generation ${agent.generation}\n`).join("");
      terminal.out.write(`The database is at this version.\n${list}`);
    }
    if (laptop.problems.length === 0) return EXIT.done;
    throw new TorenError("agent.invalid", `Not registered:\n  ${laptop.problems.map(problemText).join("\n  ")}`);
  } finally {
    await laptop.close();
  }
}
