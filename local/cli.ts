// The `toren` command line: one file a command in commands/. It reaches runs over the HTTP API alone.
import { Console } from "node:console";
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { guardRejections } from "../functions/rejections.ts";
import { messageOf, TorenError } from "../shared/core/errors.ts";
import { UsageError } from "./client/usage-error.ts";
import { chaosCommand } from "./commands/chaos.ts";
import { chatCommand } from "./commands/chat.ts";
import { type Context, EXIT, say, statusOfError, writeJson } from "./commands/context.ts";
import { deadLettersCommand } from "./commands/dead-letters.ts";
import { devCommand } from "./commands/dev.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { filesCommand } from "./commands/files.ts";
import { initCommand } from "./commands/init.ts";
import { jobsCommand } from "./commands/jobs.ts";
import { keysCommand } from "./commands/keys.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { modelServerCommand } from "./commands/model-server.ts";
import { planCommand } from "./commands/plan.ts";
import { pruneCommand } from "./commands/prune.ts";
import { runCommand } from "./commands/run.ts";
import { schedulesCommand } from "./commands/schedules.ts";
import { serveCommand } from "./commands/serve.ts";
import { smokeCommand } from "./commands/smoke.ts";
import { workerCommand } from "./commands/worker.ts";
import { troubleLog } from "./terminal/log.ts";
import { styleOf } from "./terminal/style.ts";
import { printable, processTerminal, type Terminal } from "./terminal/terminal.ts";

/** Runs one command line; resolves with its exit code (commands/context.ts). Nothing of it outlives the call. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  let status: number = EXIT.done;
  const context: Context = {
    terminal,
    run: async (json, work) => {
      try {
        status = await work();
      } catch (thrown) {
        status = report(terminal, json === true, thrown);
      }
    },
  };
  const program = programFor(context);
  try {
    await program.parseAsync([...args], { from: "user" });
    return status;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    return thrown.exitCode === 0 ? EXIT.done : EXIT.usage; // it has written what is wrong itself
  }
}

/** All commands; the reference page is held equal to them. */
export function programFor(context: Context): Command {
  const program = new Command("toren")
    .description("A durable runtime for AI agents.")
    .version(versionOf(), "--version", "say which version this is");
  program.addHelpText("after", HELP_AFTER);
  for (const make of [
    initCommand,
    runCommand,
    chatCommand,
    chaosCommand,
    jobsCommand,
    filesCommand,
    schedulesCommand,
    keysCommand,
    deadLettersCommand,
    pruneCommand,
    planCommand,
    devCommand,
    serveCommand,
    workerCommand,
    migrateCommand,
    doctorCommand,
    smokeCommand,
    modelServerCommand,
  ]) {
    program.addCommand(make(context));
  }
  configure(program, context.terminal);
  return program;
}

const versionOf = (): string =>
  (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

const HELP_AFTER = `
State is kept in .toren/ of the working folder, or in TOREN_HOME. TOREN_URL and TOREN_API_KEY use a server elsewhere;
DATABASE_URL uses a Postgres of your own. TOREN_DEBUG=1 shows where an error came from.

Exit codes: 0 done, 1 the run failed, 2 wrong usage, 3 no server or database,
130 stopped by Ctrl-C before the run ended (it is kept).`;

/** A narrower column of text is left to the terminal. */
const HELP_TEXT_COLUMNS_MIN = 20;

/** Commander's settings aren't inherited by commands that are added. */
function configure(command: Command, terminal: Terminal, called = command.name()): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.out.write(text),
    writeErr: (text) => terminal.err.write(text),
    getOutHelpWidth: () => terminal.out.size()?.columns ?? 100,
    getErrHelpWidth: () => terminal.err.size()?.columns ?? 100,
    getOutHasColors: () => terminal.out.colour,
    getErrHasColors: () => terminal.err.colour,
  });
  command.configureHelp({ minWidthToWrap: HELP_TEXT_COLUMNS_MIN });
  command.showHelpAfterError(`(${called} --help says more)`);
  for (const child of command.commands) configure(child, terminal, `${called} ${child.name()}`);
}

/** One line with the code and what to do; the stack only for who asks. */
function report(terminal: Terminal, json: boolean, thrown: unknown): number {
  const code = thrown instanceof UsageError ? "usage" : thrown instanceof TorenError ? thrown.code : "bug";
  const message = messageOf(thrown);
  if (json) writeJson(terminal, { error: { code, message } });
  const style = styleOf(terminal.err);
  const hint = code === "bug" ? " (a bug in Toren: TOREN_DEBUG=1 shows where)" : "";
  say(terminal, `${style.red("error")} ${code === "usage" ? "" : `${style.bold(code)}: `}${printable(message)}${hint}`);
  if (terminal.env.TOREN_DEBUG === "1" && thrown instanceof Error) say(terminal, thrown.stack ?? "");
  return statusOfError(thrown);
}

export async function main(): Promise<void> {
  // Agents run in this process too, and what they print isn't what was asked for.
  globalThis.console = new Console(process.stderr, process.stderr);
  const terminal = processTerminal();
  guardRejections(troubleLog((text) => say(terminal, text)));
  process.exitCode = await runCli(process.argv.slice(2), terminal);
  // Whatever a library left open must not keep the process: everything of ours has been closed.
  setTimeout(() => process.exit(), 500).unref();
}

if (import.meta.main) await main();
