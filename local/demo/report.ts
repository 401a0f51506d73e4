// How the demo ends: the answer, its quotes, the run's tree, what it cost, and the books. Pure.
import type { RunJson } from "../../shared/http/run-json.ts";
import type { Style } from "../terminal/style.ts";
import { cut, printable } from "../terminal/terminal.ts";
import { accountLines, headline, reasonLines, treeLines, visible } from "../terminal/tree.ts";
import { counted, shortId } from "../terminal/units.ts";
import { wrap } from "../terminal/wrap.ts";
import { booksLine } from "./books.ts";
import type { CheckedQuote, QuoteCheck } from "./quotes.ts";
import type { Story } from "./story.ts";

export interface Ending extends Story {
  readonly question: string;
  readonly quotes: QuoteCheck;
  /** Of the rule-based model's server, which always quotes, and whose ledger is ours; null: another model answered. */
  readonly modelPid: number | null;
  /** As it is typed in a command. */
  readonly stateFolder: string;
  /** DATABASE_URL isn't set: the run is in the state folder, until the next demo. */
  readonly embedded: boolean;
  readonly kept: boolean;
}

export interface Page {
  readonly style: Style;
  readonly columns: number;
  /** A terminal; otherwise whoever reads wants each thing on one line. */
  readonly live: boolean;
}

const QUOTED_COLUMNS = 60;

/** What went wrong, for a person; none: exit 0. */
export function faults({ run, quotes, modelPid, books }: Ending): string[] {
  const wrong = quotes.quotes.filter(({ ok }) => !ok).length;
  return [
    ...(run.status === "completed" ? [] : [`The run ${run.status}${run.reason === null ? "" : `: ${run.reason}`}`]),
    ...(wrong === 0 ? [] : [`${counted(wrong, "quote")} can't be found where the answer says`]),
    ...(run.status === "completed" && modelPid !== null && quotes.quotes.length === 0
      ? ["The answer quotes nothing, so that nothing could be checked"]
      : []),
    ...(run.receipt.repaid === 0 ? [] : [`${counted(run.receipt.repaid, "recorded answer")} were paid again`]),
    ...(books === null || books.ledger === books.recorded + books.inFlight
      ? []
      : [
          `The model's ledger has ${counted(books.ledger, "request")}, the log accounts for ${books.recorded + books.inFlight}`,
        ]),
  ];
}

export function reportLines(ending: Ending, page: Page): string[] {
  const { run, names } = ending;
  const { style, columns } = page;
  const title = (text: string): string[] => ["", style.bold(text), ""];
  const tree = treeLines(run, { style, names, columns, rows: Number.POSITIVE_INFINITY });
  return [
    ...title("Answer"),
    ...answerLines(run, page),
    ...quoteLines(ending.quotes, style),
    ...title("Run"),
    `  ${headline(run, style, Date.parse(run.endedAt ?? run.createdAt))}`,
    ...tree.map((line) => `  ${line}`),
    "",
    ...accountLines(run, style).flatMap((line) => parted(line, page)),
    ...reasonLines(run, style),
    ...title("Books"),
    ...bookLines(ending, page),
    ...title("Next"),
    ...nextLines(ending, page),
  ];
}

function answerLines({ output, status }: RunJson, { columns }: Page): string[] {
  if (status !== "completed") return ["  There is none.", ""];
  const text = typeof output === "string" ? output : JSON.stringify(output, null, 2);
  return [...wrap(printable(text.trim()), columns - 4).map((line) => (line === "" ? "" : `  ${line}`)), ""];
}

function quoteLines({ quotes }: QuoteCheck, style: Style): string[] {
  const wrong = quotes.filter(({ ok }) => !ok);
  const told = wrong.map((quote) => `  ${style.red("✘")} ${wrongText(quote)}`);
  if (quotes.length === 0) return [`  ${style.yellow("○")} It quotes nothing that could be checked.`];
  const right = quotes.length - wrong.length;
  if (wrong.length > 0)
    return [...told, `  ${right} of ${counted(quotes.length, "quote")} checked verbatim at its file and line.`];
  return [
    `  ${style.green("✔")} ${counted(quotes.length, "quote")} checked: each stands verbatim at its file and line.`,
  ];
}

/** A line of parts with ` · ` between them, on as many lines as it takes on a terminal; elsewhere on one. */
function parted(line: string, { columns, live }: Page): string[] {
  const lines: string[] = [];
  for (const part of live ? line.split(/(?<= ·) /) : [line]) {
    const last = lines.at(-1);
    if (last !== undefined && visible(last) + 1 + visible(part) <= columns) lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(last === undefined ? part : `  ${part}`);
  }
  return lines;
}

const wrongText = ({ text, file, line, why }: CheckedQuote): string =>
  `"${cut(printable(text), QUOTED_COLUMNS)}" (${printable(file)}:${line}): ${printable(why ?? "")}`;

function bookLines(ending: Ending, page: Page): string[] {
  const { style, columns } = page;
  const { books, run } = ending;
  if (books === null) {
    const text = `The model isn't ours, so there is no ledger to compare with. By the log: ${counted(run.receipt.modelCalls, "answer")} recorded, ${run.receipt.unanswered} in flight, sent again, recorded answers re-paid ${run.receipt.repaid}.`;
    return wrap(text, columns - 2).map((line) => `  ${line}`);
  }
  const verdict = books.agree
    ? `${style.green("✔")} They agree: ${books.ledger} = ${books.recorded} + ${books.inFlight}, and nothing that is on record was paid again.`
    : `${style.red("✘")} They don't agree.`;
  return [...parted(`  ${booksLine(books)}`, page), `  ${verdict}`];
}

function nextLines({ run, stateFolder, embedded, kept }: Ending, { style, columns }: Page): string[] {
  const commands = [
    [`TOREN_HOME=${stateFolder} npx toren jobs show ${shortId(run.runId)}`, "this run"],
    [`TOREN_HOME=${stateFolder} npx toren jobs tail ${shortId(run.runId)}`, "its log"],
    ["npx toren dev --model demo", "agents/ with hot reload"],
  ] as const;
  const width = Math.max(...commands.map(([command]) => command.length)) + 3;
  const lines = commands.map(([command, what]) =>
    width + what.length + 2 <= columns ? `  ${command.padEnd(width)}${style.dim(what)}` : `  ${command}`,
  );
  const note = embedded && !kept ? "The next demo starts afresh; with --keep this run stays beside it." : "";
  return note === "" ? lines : [...lines, "", `  ${style.dim(note)}`];
}

/** What `--json` prints. */
export function reportJson(ending: Ending) {
  const { run, quotes, kills, edited, books, pids } = ending;
  const wrong = faults(ending);
  return {
    ok: wrong.length === 0,
    faults: wrong,
    runId: run.runId,
    agent: run.agent,
    status: run.status,
    question: ending.question,
    output: run.output,
    ...(run.error === null ? {} : { error: run.error }),
    quotes: { checked: quotes.quotes.length, wrong: quotes.quotes.filter(({ ok }) => !ok) },
    pids: { modelServer: ending.modelPid, workers: pids },
    kills,
    edited,
    waves: run.waves,
    usage: run.usage,
    costUsd: run.costUsd,
    simulated: run.simulated,
    receipt: run.receipt,
    books,
    stateFolder: ending.stateFolder,
  };
}
