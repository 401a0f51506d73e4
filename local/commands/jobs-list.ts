// toren jobs list: runs, newest first.
import { type Command, Option } from "commander";
import { closest } from "../../shared/core/closest.ts";
import { RUNS_PAGE_MAX } from "../../shared/core/limits.ts";
import { RUN_STATUSES, type RunSummary } from "../../shared/http/run-json.ts";
import type { Api } from "../client/api.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { UsageError } from "../client/usage-error.ts";
import { mark, type Style, styleOf } from "../terminal/style.ts";
import { cut, oneLine } from "../terminal/terminal.ts";
import { markOfRun } from "../terminal/tree.ts";
import { ago, duration, shortId } from "../terminal/units.ts";
import { type Context, EXIT, parseCount, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly agent?: string;
  readonly status?: string;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_DEFAULT = 20;

export const listCommand = (context: Context): Command =>
  subcommand("list", "runs, newest first")
    .option("--agent <name>", "only this agent's")
    .addOption(new Option("--status <status>", "only in this status").choices(RUN_STATUSES))
    .option("--limit <n>", `how many, at most ${RUNS_PAGE_MAX}`, parseCount, LIMIT_DEFAULT)
    .action((options: Options) => context.run(options.json, () => list(context, options)));

async function list({ terminal }: Context, options: Options): Promise<number> {
  if (options.limit > RUNS_PAGE_MAX) throw new UsageError(`--limit is at most ${RUNS_PAGE_MAX}.`);
  const connection = await connectToRead(terminal);
  try {
    const { agent, status, limit } = options;
    const page = await connection.api.list({
      limit: String(limit),
      ...(agent ? { agent } : {}),
      ...(status ? { status } : {}),
    });
    if (agent !== undefined && page.runs.length === 0) await demandAgent(connection.api, agent);
    if (options.json) writeJson(terminal, page);
    else if (page.runs.length === 0) say(terminal, "No runs.");
    else {
      const style = styleOf(terminal.out);
      const width = Math.max(...page.runs.map((run) => nameOf(run).length));
      terminal.out.write(page.runs.map((run) => `${row(run, width, style, Date.now())}\n`).join(""));
      if (page.next !== null) say(terminal, style.dim("There are more: --limit, --agent and --status choose."));
    }
    return EXIT.done;
  } finally {
    await connection.close();
  }
}

/** No runs may be a mistyped name. Who only reads runs has no agents, and can't tell. */
async function demandAgent(api: Api, agent: string): Promise<void> {
  const known = (await api.agents()).map(({ name }) => name);
  if (known.length > 0 && !known.includes(agent))
    throw new UsageError(`There is no agent "${agent}". ${closest(agent, known)}`);
}

const nameOf = (run: RunSummary): string => (run.process === "main" ? run.agent : `${run.agent} · ${run.process}`);

const STATUS_COLUMNS = Math.max(...RUN_STATUSES.map((status) => status.length));
const FOR_PEOPLE: ReadonlySet<string> = new Set(["waitingApproval", "waitingCut", "awaitingInput"]);
/** What waits for a person stands out. */
const paint = (run: RunSummary, style: Style) => (FOR_PEOPLE.has(run.status) ? style.yellow : (text: string) => text);

function row(run: RunSummary, width: number, style: Style, now: number): string {
  const began = Date.parse(run.createdAt);
  const took = run.endedAt === null ? "" : duration(Date.parse(run.endedAt) - began);
  const why = run.error === null ? "" : `  ${style.dim(cut(oneLine(`${run.error.code}: ${run.error.message}`), 80))}`;
  const cells = [
    shortId(run.runId),
    nameOf(run).padEnd(width),
    paint(run, style)(run.status.padEnd(STATUS_COLUMNS)),
    took.padStart(9),
    style.dim(ago(now - began).padStart(12)),
  ];
  return `${mark(markOfRun(run.status), style)} ${cells.join("  ")}${why}`;
}
