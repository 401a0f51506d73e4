// toren run: starts a run, shows it, and ends as it ends.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { messageOf } from "../../shared/core/errors.ts";
import { decodeUnicode } from "../../shared/core/text-files.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import type { Connection } from "../client/connect.ts";
import { connectToWork } from "../client/connect-to-work.ts";
import { followRun } from "../client/follow.ts";
import { chooseModel } from "../client/models.ts";
import { filesAt, isFileId, upload } from "../client/upload.ts";
import { UsageError } from "../client/usage-error.ts";
import { createProgress, quietProgress } from "../terminal/progress.ts";
import { styleOf } from "../terminal/style.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { accountLines } from "../terminal/tree.ts";
import { shortId } from "../terminal/units.ts";
import { waitLines } from "../terminal/waits.ts";
import { type Context, collect, EXIT, EXIT_INTERRUPTED, say, subcommand, writeJson } from "./context.ts";
import { collectLabel, type Labels } from "./labels.ts";

interface Options {
  readonly process?: string;
  readonly files?: readonly string[];
  readonly model?: string;
  readonly agents: string;
  readonly maxCost?: string;
  readonly maxTokens?: string;
  readonly label?: Labels;
  readonly detach?: boolean;
  readonly json?: boolean;
}

export const runCommand = (context: Context): Command =>
  subcommand("run", "start a run and follow it to its end")
    .argument("<agent>", "the agent's name")
    .argument("<input>", "text; `-` reads the standard input, `@file` a file")
    .option("--process <name>", "the agent's process (default: main)")
    .option(
      "--files <path>",
      "attach a file, all files of a folder, or a kept file by its id; may be given more than once",
      collect,
    )
    .option("--model <name>", "`provider/name` for every role, or `demo`: the rule-based model server")
    .option("--agents <folder>", "where the agents are, for a server of its own", "agents")
    .option("--max-cost <usd>", "US dollars that the run may spend on models")
    .option("--max-tokens <n>", "tokens that the run may use, input and output together")
    .option("--label <key=value>", "a label to find the run by; may be given several times", collectLabel)
    .option("--detach", "only start it, on the server that runs here")
    .action((agent: string, input: string, options: Options) =>
      context.run(options.json, () => run(context, agent, input, options)),
    );

async function run({ terminal }: Context, agent: string, input: string, options: Options): Promise<number> {
  const text = await inputOf(terminal, input);
  const attached = options.files ?? [];
  const files = await filesAt(attached.filter((path) => !isFileId(path)));
  const choice = chooseModel(options.model, terminal.env, true);
  const progress =
    options.json && terminal.err.size() === null ? quietProgress(terminal.err) : createProgress(terminal.err);
  const { agents, model, detach = false } = options;
  const open = (): Promise<Connection> =>
    connectToWork(terminal, { agent, agents, model, choice, detach, say: progress.say });
  let connection = await open();
  try {
    const ids = [...attached.filter(isFileId), ...(await upload(connection.api, files))];
    const request = {
      agent,
      input: text,
      files: ids,
      ...(options.label === undefined ? {} : { attributes: options.label }),
      ...(options.process === undefined ? {} : { process: options.process }),
      limits: {
        ...(options.maxCost === undefined ? {} : { maxCostUsd: positive("--max-cost", options.maxCost) }),
        ...(options.maxTokens === undefined ? {} : { totalTokens: positive("--max-tokens", options.maxTokens) }),
      },
    };
    const { runId } = await connection.api.start(request, randomUUID());
    if (options.detach) return detached(terminal, runId, options);
    const ended = await followRun(connection.api, runId, {
      signal: terminal.interrupted,
      onRun: progress.show,
      onTrouble: progress.say,
      until: isAnswered,
      reconnect: async () => {
        if (connection.own || terminal.env.TOREN_URL) return null;
        connection = await open(); // its server ended with a run of its own: this one goes on elsewhere
        progress.say(`It goes on at ${connection.api.url}.`);
        return connection.api;
      },
    }).finally(progress.end);
    if (ended === null) return interrupted(terminal, connection, runId);
    return result(terminal, ended, options);
  } finally {
    await connection.close();
  }
}

export function positive(option: string, text: string): number {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new UsageError(`${option} must be a number above 0, and is "${text}".`);
}

export async function inputOf(terminal: Terminal, input: string): Promise<string> {
  if (input === "-") return terminal.readInput();
  if (!input.startsWith("@")) return input;
  const decoded = await readFile(input.slice(1)).then(decodeUnicode, (e: unknown) => {
    throw new UsageError(`The input file can't be read: ${messageOf(e)}.`);
  });
  if (decoded.ok) return decoded.text;
  throw new UsageError(
    `The input file ${input.slice(1)} isn't text: ${decoded.reason}. \`--files\` attaches a file as it is.`,
  );
}

function detached(terminal: Terminal, runId: string, options: Options): number {
  if (options.json) writeJson(terminal, { runId });
  else {
    terminal.out.write(`${runId}\n`);
    say(terminal, `Started. \`toren jobs tail ${shortId(runId)}\` follows it.`);
  }
  return EXIT.done;
}

function interrupted(terminal: Terminal, connection: Connection, runId: string): number {
  const next = connection.own
    ? `It is kept: \`toren dev\` takes it up where it was.`
    : `It goes on without us: \`toren jobs tail ${shortId(runId)}\` follows it.`;
  say(terminal, `\nLeaving run ${runId}. ${next}`);
  return EXIT_INTERRUPTED;
}

function result(terminal: Terminal, ended: RunJson, options: Options): number {
  if (options.json) writeJson(terminal, resultJson(ended));
  else {
    const style = styleOf(terminal.err);
    say(terminal, accountLines(ended, style).map(style.dim).join("\n"));
    if (ended.status === "completed" || isAnswered(ended)) {
      if (terminal.err.size() !== null) say(terminal, "");
      terminal.out.write(`${outputText(ended.output ?? answerOf(ended), terminal)}\n`);
    }
    if (isAnswered(ended)) say(terminal, waitLines(ended, style, Date.now()).join("\n"));
  }
  return ended.status === "completed" || isAnswered(ended) ? EXIT.done : EXIT.failed;
}

/** A session that has answered waits for its user: there is nothing to follow any more. */
const isAnswered = (run: RunJson): boolean => run.status === "awaitingInput" && answerOf(run) !== null;

const answerOf = (run: RunJson): string | null => run.turns?.findLast((turn) => turn.by === "agent")?.text ?? null;

/** What `toren run --json` prints. */
function resultJson(run: RunJson) {
  const { modelCalls, replayed, repaid, savedTokens, savedUsd } = run.receipt;
  return {
    runId: run.runId,
    status: run.status,
    output: run.output,
    ...(run.turns === null ? {} : { answer: answerOf(run) }),
    ...(run.error === null ? {} : { error: run.error }),
    usage: run.usage,
    costUsd: run.costUsd,
    ...(run.simulated ? { simulated: true } : {}),
    receipt: { modelCalls, replayed, repaid, savedTokens, savedUsd },
  };
}

/** Text as it is, anything else as JSON to read; on a terminal without what could play tricks on it. */
export function outputText(output: RunJson["output"], terminal: Terminal): string {
  const text = typeof output === "string" ? output : JSON.stringify(output, null, 2);
  return terminal.out.size() === null ? text : printable(text);
}
