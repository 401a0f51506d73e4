// toren jobs show: one run: its tree, what it came to, the receipt, and why it stands still or failed.
import type { Command } from "commander";
import { TURNS_PAGE_MAX } from "../../shared/core/limits.ts";
import type { RunJson, TurnJson } from "../../shared/http/run-json.ts";
import type { Api } from "../client/api.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { waveNames } from "../client/follow.ts";
import { wholeRunId } from "../client/run-id.ts";
import { styleOf } from "../terminal/style.ts";
import { cut, oneLine } from "../terminal/terminal.ts";
import { accountLines, headline, originLines, reasonLines, treeLines } from "../terminal/tree.ts";
import { decidedLines, transcriptLines, waitLines, waitsForPerson } from "../terminal/waits.ts";
import { type Context, EXIT, parseCount, subcommand, writeJson } from "./context.ts";
import { outputText } from "./run.ts";

interface Options {
  readonly turns?: number;
  readonly json?: boolean;
}

const PIPE_COLUMNS = 200;
const INPUT_COLUMNS = 100;
/** Of a conversation, the last ones. */
const TURNS_DEFAULT = 20;

export const showCommand = (context: Context): Command =>
  subcommand("show", "a run: tree, cost, receipt, what it waits for, last error; of a session what was said")
    .argument("<run>", "its id, or the beginning of it")
    .option("--turns <n>", `of a session, how many of the last turns (default: ${TURNS_DEFAULT})`, parseCount)
    .action((typed: string, options: Options) => context.run(options.json, () => show(context, typed, options)));

async function show({ terminal }: Context, typed: string, options: Options): Promise<number> {
  const connection = await connectToRead(terminal);
  try {
    const { api } = connection;
    const runId = await wholeRunId(api, typed);
    const run = await api.run(runId);
    if (options.json) {
      const { turns: most } = options;
      const more = run.turns === null || most === undefined ? {} : { turns: await lastTurns(api, run, most) };
      writeJson(terminal, { ...run, ...more });
      return EXIT.done;
    }
    const style = styleOf(terminal.out);
    const columns = terminal.out.size()?.columns ?? PIPE_COLUMNS;
    const input = cut(
      oneLine(typeof run.input === "string" ? run.input : JSON.stringify(run.input)),
      Math.min(INPUT_COLUMNS, columns - 4),
    );
    const tree = { style, names: await waveNames(api, runId), columns, rows: Number.POSITIVE_INFINITY };
    const now = Date.now();
    const said = await lastTurns(api, run, options.turns ?? TURNS_DEFAULT);
    const lines = [
      headline(run, style, now),
      `  ${style.dim(run.runId)}`,
      ...originLines(run, style),
      `  ${style.dim(input)}`,
      "",
      ...treeLines(run, tree),
      "",
      ...accountLines(run, style),
      ...decidedLines(run, style, now),
      ...(waitsForPerson(run) ? ["", ...waitLines(run, style, now)] : reasonLines(run, style)),
      ...(run.turns === null ? [] : ["", ...transcriptLines(said, run.turnCount ?? 0, style)]),
      ...(run.status === "completed" && run.turns === null ? ["", outputText(run.output, terminal)] : []),
    ];
    terminal.out.write(`${lines.join("\n")}\n`);
    return EXIT.done;
  } finally {
    await connection.close();
  }
}

/** The run shows so many of them; what goes beyond is read a page at a time. */
async function lastTurns(api: Api, run: RunJson, most: number): Promise<TurnJson[]> {
  let turns = run.turns ?? [];
  for (let [first] = turns; first !== undefined && first.seq > 0 && turns.length < most; [first] = turns) {
    const limit = Math.min(TURNS_PAGE_MAX, most - turns.length);
    const page = await api.turns(run.runId, { before: String(first.seq), limit: String(limit) });
    if (page.turns.length === 0) break;
    turns = [...page.turns, ...turns];
  }
  return turns.slice(-most);
}
