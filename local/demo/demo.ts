// npm run demo: the main job on real text, killed twice on the way, with every quote and every call checked at the end. It ends what it started.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { messageOf, TorenError } from "../../shared/core/errors.ts";
import { filesAt, type LocalFile } from "../client/upload.ts";
import { UsageError } from "../client/usage-error.ts";
import { collect, EXIT, say, statusOfError, writeJson } from "../commands/context.ts";
import { createScreen, type Screen } from "../terminal/steps-screen.ts";
import { styleOf } from "../terminal/style.ts";
import { processTerminal, type Terminal } from "../terminal/terminal.ts";
import { checkQuotes } from "./quotes.ts";
import { type Ending, faults, reportJson, reportLines } from "./report.ts";
import { AGENT_FOLDER, openStage } from "./stage.ts";
import { type Story, tell } from "./story.ts";
import { DemoFailed } from "./watch.ts";

interface Options {
  readonly question?: string;
  readonly files?: readonly string[];
  readonly model?: string;
  readonly keep?: boolean;
  readonly json?: boolean;
}

const EXIT_INTERRUPTED = 130;

/** Runs the demo; resolves with its exit code, when everything that it started has ended. */
export async function demo(args: readonly string[], terminal: Terminal): Promise<number> {
  const options = parse(args, terminal);
  if (typeof options === "number") return options;
  const screen = createScreen(options.json ? terminal.err : terminal.out, () => performance.now());
  try {
    const ending = await play(options, terminal, screen);
    const wrong = faults(ending);
    if (!options.json) screen.print(reportLines(ending, screen));
    for (const fault of wrong) say(terminal, `${styleOf(terminal.err).red("error")} ${fault}.`);
    if (options.json) writeJson(terminal, reportJson(ending));
    return wrong.length === 0 ? EXIT.done : EXIT.failed;
  } catch (thrown) {
    screen.clear();
    if (terminal.interrupted.aborted) {
      say(terminal, "Stopped: everything that the demo had started has ended.");
      return EXIT_INTERRUPTED;
    }
    return report(terminal, options, thrown);
  }
}

function parse(args: readonly string[], terminal: Terminal): Options | number {
  const command = new Command("npm run demo --")
    .description("a crew of agents answers a question from documents, is killed twice on the way, and shows its books")
    .option("--question <text>", "what to ask (default: agents/research_crew/question.txt)")
    .option(
      "--files <path>",
      "folder or file to answer from; may be given again (default: the agent's corpus)",
      collect,
    )
    .option("--model <name>", "`provider/name` for every role (default: the rule-based model server, no key needed)")
    .option("--keep", "keep the runs of earlier demos, and this one at the next")
    .option("--json", "one JSON document on stdout, nothing else there")
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out.write(text), writeErr: (text) => terminal.err.write(text) });
  try {
    return command.parse([...args], { from: "user" }).opts<Options>();
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    return thrown.exitCode === 0 ? EXIT.done : EXIT.usage; // it has said why itself
  }
}

async function play(options: Options, terminal: Terminal, screen: Screen): Promise<Ending> {
  const { env, workingFolder, interrupted } = terminal;
  const question = options.question ?? (await readFile(join(AGENT_FOLDER, "question.txt"), "utf8")).trim();
  if (question.trim() === "") throw new UsageError("The question is empty.");
  const files = await filesFor(options);
  screen.print([
    `${screen.style.bold("toren demo")}  ${screen.style.dim("one run; its worker is killed twice, on purpose")}`,
    "",
  ]);
  const stage = await openStage({
    model: options.model,
    keep: options.keep === true,
    env,
    workingFolder,
    say: (label, text) => screen.step(label, text),
  });
  let story: Story;
  try {
    interrupted.throwIfAborted();
    story = await tell({ stage, screen, question, files, signal: interrupted });
  } finally {
    screen.clear();
    await stage.close();
  }
  return {
    ...story,
    question,
    quotes: await quotesOf(story.run.output, files),
    modelPid: stage.modelPid,
    stateFolder: stage.stateFolder,
    embedded: !env.DATABASE_URL,
    kept: options.keep === true,
  };
}

/** Of the corpus its documents alone, without its README and licence. */
async function filesFor({ files }: Options): Promise<readonly LocalFile[]> {
  if (files !== undefined) return filesAt(files);
  return (await filesAt([join(AGENT_FOLDER, "corpus")])).filter(({ name }) => name.endsWith(".txt"));
}

async function quotesOf(output: Story["run"]["output"], files: readonly LocalFile[]) {
  const text = typeof output === "string" ? output : JSON.stringify(output ?? "");
  const lines = new Map<string, readonly string[]>();
  for (const { name, path } of files) lines.set(name, (await readFile(path, "utf8")).split(/\r?\n/));
  return checkQuotes(text, (file) => lines.get(file));
}

function report(terminal: Terminal, { json }: Options, thrown: unknown): number {
  const code =
    thrown instanceof UsageError
      ? "usage"
      : thrown instanceof DemoFailed
        ? "demo.failed"
        : thrown instanceof TorenError
          ? thrown.code
          : "bug";
  const message = messageOf(thrown);
  if (json) writeJson(terminal, { error: { code, message } });
  say(terminal, `${styleOf(terminal.err).red("error")} ${message}`);
  if (terminal.env.TOREN_DEBUG === "1" && thrown instanceof Error) say(terminal, thrown.stack ?? "");
  return thrown instanceof DemoFailed ? EXIT.failed : statusOfError(thrown);
}

if (import.meta.main) {
  process.exitCode = await demo(process.argv.slice(2), processTerminal());
  // Whatever a library left open must not keep the process: everything of ours has been closed.
  setTimeout(() => process.exit(), 500).unref();
}
