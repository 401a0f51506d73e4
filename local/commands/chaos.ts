// toren chaos: whether an agent of yours lives through the deaths of its workers.
import type { Command } from "commander";
import { chaos } from "../chaos/chaos.ts";
import { faults, reportJson, reportLines } from "../chaos/report.ts";
import { chooseModel } from "../client/models.ts";
import { filesAt } from "../client/upload.ts";
import { createScreen } from "../terminal/steps-screen.ts";
import { styleOf } from "../terminal/style.ts";
import { type Context, collect, EXIT, EXIT_INTERRUPTED, parseCount, say, subcommand, writeJson } from "./context.ts";
import { inputOf } from "./run.ts";

interface Options {
  readonly process?: string;
  readonly files?: readonly string[];
  readonly model?: string;
  readonly agents: string;
  readonly kills: number;
  readonly approve?: boolean;
  readonly json?: boolean;
}

const KILLS = 5;

export const chaosCommand = (context: Context): Command =>
  subcommand("chaos", "start a run, kill its workers again and again, and check what was paid")
    .argument("<agent>", "the agent's name")
    .argument("<input>", "text; `-` reads the standard input, `@file` a file")
    .option("--kills <n>", "workers to kill, if the run lasts that long", parseCount, KILLS)
    .option("--approve", "grant what waits for approval")
    .option("--process <name>", "the agent's process (default: main)")
    .option("--files <path>", "attach a file, or all files of a folder; may be given more than once", collect)
    .option("--model <name>", "`provider/name` for every role, or `demo`: the rule-based model server")
    .option("--agents <folder>", "where the agents are", "agents")
    .action((agent: string, input: string, options: Options) =>
      context.run(options.json, () => strike(context, agent, input, options)),
    );

async function strike({ terminal }: Context, agent: string, input: string, options: Options): Promise<number> {
  const { kills, json, agents: agentsFolder, approve = false, process } = options;
  const screen = createScreen(json ? terminal.err : terminal.out, () => performance.now());
  const survived = await chaos(terminal, {
    agent,
    input: await inputOf(terminal, input),
    files: await filesAt(options.files ?? []),
    agentsFolder,
    choice: chooseModel(options.model, terminal.env, true),
    kills,
    approve,
    ...(process === undefined ? {} : { process }),
    onStep: (label, text, bad = false) => screen.step(label, text, bad ? "bad" : "plain"),
    onRun: screen.run,
  }).finally(screen.clear);
  if (survived === null) {
    say(terminal, "Stopped: everything that was started has ended.");
    return EXIT_INTERRUPTED;
  }
  const wrong = faults(survived);
  if (json) writeJson(terminal, reportJson(survived));
  else screen.print(reportLines(survived, screen.style, screen.columns, kills));
  for (const fault of wrong) say(terminal, `${styleOf(terminal.err).red("error")} ${fault}.`);
  return wrong.length === 0 ? EXIT.done : EXIT.failed;
}
