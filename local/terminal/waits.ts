// What a run waits for from a person, as lines: calls to allow, cuts to decide, a message; each with the command that answers it.
import type { ApprovalJson, CutJson, RunJson, TurnJson } from "../../shared/http/run-json.ts";
import { mark, type Style } from "./style.ts";
import { cut, oneLine, printable } from "./terminal.ts";
import { ago, cost, counted, duration, grouped, shortId } from "./units.ts";

const ARGUMENT_CHARS = 300;
const NAME_COLUMNS_MAX = 24;

type Waiting = Pick<RunJson, "runId" | "status" | "endedAt" | "approvals" | "cuts" | "signals">;

/** Calls that nobody has decided about. */
export const openApprovals = (run: Pick<RunJson, "approvals">): ApprovalJson[] =>
  run.approvals.filter((a) => a.decided === null);

/** Whether a person is wanted. */
export const waitsForPerson = (run: Waiting): boolean =>
  run.endedAt === null &&
  (run.cuts.length > 0 || openApprovals(run).length > 0 || run.signals.length > 0 || run.status === "awaitingInput");

/** Empty while nobody is wanted. `now` in milliseconds since 1970. */
export function waitLines(run: Waiting, style: Style, now: number): string[] {
  if (!waitsForPerson(run)) return [];
  const id = shortId(run.runId);
  const open = openApprovals(run);
  const lines = [
    ...run.cuts.flatMap((asked) => cutLines(asked, style)),
    ...open.flatMap((asked) => approvalLines(asked, style, now)),
    ...run.signals.map((awaited) => signalLine(awaited, style, now)),
  ];
  const call = open.length > 1 ? " --call ID" : "";
  const resume = ["rerun", ...(run.cuts.every(isKeepable) ? ["keep"] : [])].map((how) => `jobs resume ${id} --${how}`);
  return [
    ...lines,
    ...(run.cuts.length > 0 ? [commandLine(resume, style)] : []),
    ...(open.length > 0 ? [commandLine([`jobs approve ${id}${call}`, `jobs deny ${id}${call}`], style)] : []),
    ...run.signals
      .slice(0, 1)
      .map(({ signal }) => commandLine([`jobs signal ${id} ${shellWord(signal)} VALUE`], style)),
    ...(run.status === "awaitingInput" && open.length === 0
      ? [commandLine([`chat --run ${id}`, `jobs send ${id} TEXT`], style)]
      : []),
  ];
}

const commandLine = (commands: readonly string[], style: Style): string =>
  `  ${commands.map(style.command).join("   ")}`;

/** A call with its arguments, one a line. */
export function approvalLines(asked: ApprovalJson, style: Style, now: number): string[] {
  const expiry =
    asked.expiresAt === null ? "" : ` · denied in ${duration(Math.max(0, Date.parse(asked.expiresAt) - now))}`;
  const since = `asked ${ago(now - Date.parse(asked.requestedAt))}${expiry} · ${oneLine(asked.taskId)}, call ${oneLine(asked.call)}`;
  const unknown = asked.reason === "unknownOutcome";
  const what = unknown ? "may have taken effect: run it again?" : "waits for approval";
  return [
    `  ${mark("parked", style)} ${style.bold(oneLine(asked.tool))} ${style.yellow(what)}  ${style.dim(since)}`,
    ...argumentLines(asked.args).map((text) => `      ${text}`),
    ...(unknown
      ? [
          style.dim(
            "      It had begun when its worker died. Allowed, it is made again; denied, the model is told that nobody knows.",
          ),
        ]
      : []),
  ];
}

function signalLine({ signal, since, dueAt }: RunJson["signals"][number], style: Style, now: number): string {
  const left = dueAt === null ? "" : ` · ${duration(Math.max(0, Date.parse(dueAt) - now))} left`;
  const about = style.dim(`for ${duration(now - Date.parse(since))}${left}`);
  return `  ${mark("parked", style)} ${style.bold(oneLine(signal))} ${style.yellow("awaited as a signal")}  ${about}`;
}

/** As it can be typed. */
const shellWord = (text: string): string =>
  /^[\w.:@/-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", "'\\''")}'`;

/** Whole names, and values as far as a person reads them. */
export function argumentLines(args: ApprovalJson["args"]): string[] {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return [shown(args)];
  const entries = Object.entries(args);
  if (entries.length === 0) return ["(no arguments)"];
  const width = Math.min(NAME_COLUMNS_MAX, Math.max(...entries.map(([name]) => oneLine(name).length)));
  return entries.map(([name, value]) => `${oneLine(name).padEnd(width)}  ${shown(value)}`);
}

const shown = (value: ApprovalJson["args"]): string =>
  cut(oneLine(typeof value === "string" ? value : JSON.stringify(value)), ARGUMENT_CHARS);

function cutLines(asked: CutJson, style: Style): string[] {
  const stream = asked.stream.replace(/^task:/, "");
  return [
    `  ${mark("parked", style)} ${style.bold(stream)} ${style.yellow("waits for a decision")}  ${style.dim(oneLine(asked.reason))}`,
    `      would be done again: ${oneLine(asked.calls.join(", "))}`,
    `      would be paid again: ${paidAgain(asked)}`,
    ...insteadLines(asked.instead),
  ];
}

/** What `--keep` makes of an edited workflow. */
function insteadLines(instead: CutJson["instead"]): string[] {
  if (instead === null) return [];
  const { stands, standing, fresh, anew } = instead;
  const more = (shown: readonly unknown[], all: number): string[] =>
    all > shown.length ? [`        … and ${grouped(all - shown.length)} more`] : [];
  if (standing === 0) return ["      nothing that is recorded could answer for what it asks now"];
  return [
    "      kept, what is recorded answers for what it asks now:",
    ...stands.map(({ task, was, now }) => `        ${oneLine(task)}  ${oneLine(was)}  for  ${oneLine(now)}`),
    ...more(stands, standing),
    ...(anew === 0 ? [] : ["      new all the same:"]),
    ...fresh.map((words) => `        ${oneLine(words)}`),
    ...more(fresh, anew),
  ];
}

const isKeepable = ({ instead }: CutJson): boolean => instead === null || instead.standing > 0;

/** Tasks of a cut plan may be taken over by one that comes later. */
function paidAgain({ stream, price: { modelCalls, costUsd, simulated } }: CutJson): string {
  if (modelCalls === 0) return "nothing";
  return `${stream === "run" ? "at most " : ""}${counted(modelCalls, "model call")}, ${cost(costUsd, simulated)}`;
}

/** Decisions that were made. */
export const decidedLines = (run: Pick<RunJson, "approvals">, style: Style, now: number): string[] =>
  run.approvals.flatMap(({ tool, decided }) => {
    if (decided === null) return [];
    const said = decided.comment.trim() === "" ? "" : `: ${oneLine(decided.comment)}`;
    const what = `${decided.granted ? "granted" : "denied"} by ${oneLine(decided.by)}`;
    const when = style.dim(ago(now - Date.parse(decided.at)));
    return [`  ${mark(decided.granted ? "done" : "cancelled", style)} ${oneLine(tool)}  ${what}${said}  ${when}`];
  });

const INDENT = "          ";

/** The end of a conversation of `count` turns. */
export function transcriptLines(turns: readonly TurnJson[], count: number, style: Style): string[] {
  const hidden = count - turns.length;
  const above = hidden > 0 ? [style.dim(`  … ${grouped(hidden)} above (--turns shows more)`)] : [];
  const lines = turns.map(({ by, text }) => {
    const who = by === "user" ? style.cyan("user ") : style.green("agent");
    return `  ${who}   ${printable(text.trimEnd()).replaceAll("\n", `\n${INDENT}`)}`;
  });
  return [...above, ...lines];
}
