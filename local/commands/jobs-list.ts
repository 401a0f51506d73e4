// toren jobs list: runs, newest first.
import { type Command, InvalidArgumentError, Option } from "commander";
import { closest } from "../../shared/core/closest.ts";
import { RUNS_PAGE_MAX } from "../../shared/core/limits.ts";
import { RUN_STATUSES } from "../../shared/core/run-status.ts";
import { durationMs } from "../../shared/core/time.ts";
import type { RunSummary } from "../../shared/http/run-json.ts";
import type { Api } from "../client/api.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { UsageError } from "../client/usage-error.ts";
import { mark, type Style, styleOf } from "../terminal/style.ts";
import { cut, oneLine } from "../terminal/terminal.ts";
import { labelText, markOfRun, visible } from "../terminal/tree.ts";
import { ago, duration, shortId } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, collect, parseCount, say, subcommand } from "./context.ts";
import { collectLabel, type Labels } from "./labels.ts";

interface Options {
  readonly agent?: readonly string[];
  readonly status?: readonly string[];
  readonly process?: string;
  readonly text?: string;
  readonly label?: Labels;
  readonly since?: number;
  readonly until?: number;
  readonly cursor?: string;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_DEFAULT = 20;

export const listCommand = (context: Context): Command =>
  subcommand("list", "runs, newest first: those that fit all that is given")
    .option("--agent <name>", "only this agent's; may be given several times", collect)
    .addOption(
      new Option(
        "--status <status>",
        `only in this status; may be given several times: ${RUN_STATUSES.join(", ")}`,
      ).argParser(parseStatus),
    )
    .option("--process <name>", "only of this process")
    .option("--text <words>", "beginnings of words of the input, all of them; or the beginning of an id")
    .option("--label <key=value>", "only with this label; may be given several times", collectLabel)
    .option("--since <time>", "started within this length of time (12h, 30d), or from a time on", parseTime)
    .option("--until <time>", "started longer ago than this, or before a time", parseTime)
    .option("--cursor <next>", "goes on where a page ended: its `next` in --json")
    .option("--limit <n>", `how many, at most ${RUNS_PAGE_MAX}`, parseCount, LIMIT_DEFAULT)
    .action((options: Options) => context.run(options.json, () => list(context, options)));

function parseStatus(text: string, before: readonly string[] = []): string[] {
  if (!RUN_STATUSES.some((status) => status === text))
    throw new InvalidArgumentError(`There is no such status. ${closest(text, RUN_STATUSES)}`);
  return [...before, text];
}

/** A length of time counts back from now. In milliseconds since 1970. */
function parseTime(text: string): number {
  const ago = durationMs(text);
  const at = ago === null ? Date.parse(text) : Date.now() - ago;
  if (Number.isNaN(at) || (ago === null && !/^\d{4}-\d{2}-\d{2}/.test(text)))
    throw new InvalidArgumentError("Write a length of time, as 12h or 30d, or a time, as 2026-11-30T08:00:00Z.");
  return at;
}

async function list({ terminal }: Context, options: Options): Promise<number> {
  if (options.limit > RUNS_PAGE_MAX) throw new UsageError(`--limit is at most ${RUNS_PAGE_MAX}.`);
  return await answered(terminal, connectToRead, options.json, {
    ask: async (api) => {
      const page = await api.list(queryOf(options));
      if (page.runs.length === 0) for (const agent of options.agent ?? []) await demandAgent(api, agent);
      return page;
    },
    show: ({ runs, next }) => {
      if (runs.length === 0) say(terminal, "No runs.");
      const style = styleOf(terminal.out);
      const columns = terminal.out.size()?.columns ?? Number.POSITIVE_INFINITY;
      const width = Math.max(...runs.map((run) => nameOf(run).length));
      terminal.out.write(runs.map((run) => `${row(run, width, style, Date.now(), columns)}\n`).join(""));
      if (next !== null) say(terminal, style.dim("There are more: --limit shows more, --text and the others choose."));
    },
  });
}

function queryOf({ agent, status, process, text, label = {}, since, until, cursor, limit }: Options) {
  const given = {
    limit: String(limit),
    agent: agent?.join(","),
    status: status?.join(","),
    process,
    text,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    until: until === undefined ? undefined : new Date(until).toISOString(),
    cursor,
    ...Object.fromEntries(Object.entries(label).map(([key, value]) => [`attributes.${key}`, value])),
  };
  return Object.fromEntries(Object.entries(given).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
}

/** No runs may be a mistyped name. Who only reads runs has no agents, and can't tell. */
async function demandAgent(api: Api, agent: string): Promise<void> {
  const known = (await api.agents()).map(({ name }) => name);
  if (known.length > 0 && !known.includes(agent))
    throw new UsageError(`There is no agent "${agent}". ${closest(agent, known)}`);
}

const nameOf = (run: RunSummary): string => (run.process === "main" ? run.agent : `${run.agent} · ${run.process}`);

/** Of its labels, and of why it failed. */
const MORE_CHARS = 80;
const STATUS_COLUMNS = Math.max(...RUN_STATUSES.map((status) => status.length));
const FOR_PEOPLE: ReadonlySet<string> = new Set(["waitingApproval", "waitingCut", "awaitingInput"]);
/** What waits for a person stands out. */
const paint = (run: RunSummary, style: Style) => (FOR_PEOPLE.has(run.status) ? style.yellow : (text: string) => text);

function row(run: RunSummary, width: number, style: Style, now: number, columns: number): string {
  const began = Date.parse(run.createdAt);
  const took = run.endedAt === null ? "" : duration(Date.parse(run.endedAt) - began);
  const cells = [
    shortId(run.runId),
    nameOf(run).padEnd(width),
    paint(run, style)(run.status.padEnd(STATUS_COLUMNS)),
    took.padStart(9),
    style.dim(ago(now - began).padStart(12)),
  ];
  const first = `${mark(markOfRun(run.status), style)} ${cells.join("  ")}`;
  const why = run.error === null ? "" : oneLine(`${run.error.code}: ${run.error.message}`);
  const more = [labelText(run.attributes), why].filter((text) => text !== "").map((text) => cut(text, MORE_CHARS));
  const room = columns - visible(first) - 2;
  return more.length === 0 || room < 4 ? first : `${first}  ${style.dim(cut(more.join("  "), room))}`;
}
