// A run as lines: its waves and tasks with what each used, then what it came to. Pure: `progress.ts` draws them, `jobs show` prints them.
import { stripVTControlCharacters } from "node:util";
import { totalTokens, type Usage } from "../../shared/core/messages.ts";
import type { RunJson, TaskJson } from "../../shared/http/run-json.ts";
import { type Mark, mark, type Style } from "./style.ts";
import { cut, oneLine } from "./terminal.ts";
import { clock, cost, counted, duration, grouped, shortId, tokens, usd } from "./units.ts";

/** Names of waves as the workflow gave them, by number: they stand in the run's own events. */
export type WaveNames = ReadonlyMap<number, string>;

export interface TreeOptions {
  readonly style: Style;
  readonly names: WaveNames;
  readonly columns: number;
  /** Lines for waves and tasks; with more of them, waves that are well are shown as one line each. */
  readonly rows: number;
}

const LABEL_COLUMNS = 30;
const ERROR_TEXT_COLUMNS = 400;

export const isEnded = (run: { readonly endedAt: string | null }): boolean => run.endedAt !== null;

export function markOfRun(status: RunJson["status"]): Mark {
  if (status === "completed") return "done";
  if (status === "failed" || status === "cancelled") return status;
  return status === "created" ? "waiting" : status === "running" ? "running" : "parked";
}

export function markOfTask(task: Pick<TaskJson, "status" | "outcome" | "wait">): Mark {
  if (task.outcome === "completed") return "done";
  if (task.outcome !== null) return task.outcome;
  return task.status === "running" ? "running" : task.status === "parked" ? "parked" : "waiting";
}

/** `✔ research_crew · main  completed in 24.1 s  01980f2e`. `now` in milliseconds since 1970. */
export function headline(run: RunJson, style: Style, now: number): string {
  const ms = (run.endedAt === null ? now : Date.parse(run.endedAt)) - Date.parse(run.createdAt);
  const took = run.endedAt === null ? clock(ms) : duration(ms);
  const name = run.process === "main" ? style.bold(run.agent) : `${style.bold(run.agent)} · ${run.process}`;
  const state = isEnded(run) ? `${run.status} in ${took}` : `${stateOf(run)} ${took}`;
  return `${mark(markOfRun(run.status), style)} ${name}  ${state}  ${style.dim(shortId(run.runId))}`;
}

/** Where it comes from, how often it was taken up again, and what it is labelled with. */
export function originLines(
  { forkedFrom, retries, attributes, parent }: Pick<RunJson, "forkedFrom" | "retries" | "attributes" | "parent">,
  style: Style,
): string[] {
  const said = [
    ...(parent === null ? [] : [`a child of ${parent}`]),
    ...(forkedFrom === null ? [] : [`forked from ${forkedFrom}`]),
    ...(retries === 0 ? [] : [`retried ${retries === 1 ? "once" : `${grouped(retries)} times`}`]),
  ];
  const labels = labelText(attributes);
  return [...(said.length === 0 ? [] : [said.join(" · ")]), ...(labels === "" ? [] : [labels])].map(
    (text) => `  ${style.dim(text)}`,
  );
}

/** As they are given to `--label`. */
export const labelText = (attributes: RunJson["attributes"]): string =>
  Object.entries(attributes)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => oneLine(`${key}=${value}`))
    .join("  ");

const STATES: Readonly<Partial<Record<RunJson["status"], string>>> = {
  created: "starting",
  waitingCut: "waits for a decision",
  waitingApproval: "waits for approval",
  awaitingInput: "waits for its user",
  waitingSignal: "waits for a signal",
  waitingTimer: "waits for a timer",
  waitingRetry: "waits to try again",
};
const stateOf = (run: RunJson): string => STATES[run.status] ?? run.status;

export function treeLines(run: RunJson, options: TreeOptions): string[] {
  const whole = [...run.waves.flatMap((wave) => waveLines(wave, options, true)), ...childLines(run, options, true)];
  if (whole.length <= options.rows) return whole;
  const brief = [...run.waves.flatMap((wave) => waveLines(wave, options, false)), ...childLines(run, options, false)];
  if (brief.length <= options.rows) return brief;
  const hidden = brief.length - options.rows + 1;
  return [options.style.dim(`  … ${counted(hidden, "line")} above`), ...brief.slice(hidden)];
}

/** The runs that its workflow started; in brief how far they are. */
function childLines(run: RunJson, options: TreeOptions, whole: boolean): string[] {
  const { style } = options;
  if (run.childCount === 0) return [];
  const ended = run.children.filter(isEnded).length;
  const label = `runs  ${style.dim(`${grouped(ended)} of ${grouped(run.childCount)}`)}`;
  const first = `  ${mark(ended === run.childCount ? "done" : "running", style)} ${label}`;
  if (!whole) return [first];
  const more = run.childCount - run.children.length;
  const lines = run.children.map((child) => {
    const spent = { calls: child.modelCalls, tokens: child.tokens, usd: child.costUsd };
    return line(markOfRun(child.status), `${child.process} ${style.dim(shortId(child.runId))}`, spent, "    ", options);
  });
  return [first, ...lines, ...(more > 0 ? [style.dim(`    … and ${grouped(more)} more`)] : [])];
}

type Wave = RunJson["waves"][number];

function waveLines(wave: Wave, options: TreeOptions, whole: boolean): string[] {
  const [only] = wave.tasks;
  if (only === undefined) return [];
  const name = wave.wave < 0 ? "not claimed" : options.names.get(wave.wave);
  if (wave.tasks.length === 1) {
    const role = only.role ?? only.taskId;
    const label = name === undefined || name === role ? role : `${name} · ${role}`;
    return [taskLine(only, label, "  ", options)];
  }
  const roles = [...new Set(wave.tasks.map((t) => t.role ?? "?"))].join(", ");
  const ended = wave.tasks.filter((t) => t.status === "ended").length;
  const label = `${name ?? roles}  ${options.style.dim(`${grouped(ended)} of ${grouped(wave.tasks.length)}`)}`;
  const first = line(markOfWave(wave), label, sum(wave.tasks), "  ", options);
  const shown = whole ? wave.tasks : wave.tasks.filter((t) => t.outcome === "failed").slice(0, 3);
  return [first, ...shown.map((t) => taskLine(t, `${t.role ?? "?"} ${options.style.dim(t.taskId)}`, "    ", options))];
}

function markOfWave(wave: Wave): Mark {
  const marks = wave.tasks.map(markOfTask);
  for (const state of ["running", "waiting", "parked"] as const) {
    if (marks.includes(state))
      return marks.every((m) => m === "waiting") ? "waiting" : state === "parked" ? "parked" : "running";
  }
  return marks.includes("failed") ? "failed" : marks.includes("cancelled") ? "cancelled" : "done";
}

interface Spent {
  readonly calls: number;
  readonly tokens: number;
  readonly usd: number | null;
}
const spentOf = (t: TaskJson): Spent => ({ calls: t.receipt.modelCalls, tokens: totalTokens(t.usage), usd: t.costUsd });
const sum = (tasks: readonly TaskJson[]): Spent =>
  tasks.map(spentOf).reduce(
    (a, b) => ({
      calls: a.calls + b.calls,
      tokens: a.tokens + b.tokens,
      usd: a.usd === null || b.usd === null ? null : a.usd + b.usd,
    }),
    { calls: 0, tokens: 0, usd: 0 },
  );

function taskLine(task: TaskJson, label: string, indent: string, options: TreeOptions): string {
  const note =
    task.problem !== null
      ? ` ${options.style.yellow(oneLine(`${task.problem.code}: ${task.problem.message}`))}`
      : waitNote(task, options.style);
  return line(markOfTask(task), label, spentOf(task), indent, options) + note;
}

const WAITS = {
  wave: "",
  timer: "waits for a timer",
  retry: "waits to try again",
  cut: "waits for a decision",
  claim: "not claimed by the new plan",
  approval: "waits for approval",
  input: "waits for its user",
  child: "",
  signal: "waits for a signal",
};
const waitNote = (task: TaskJson, style: Style): string => {
  const text = task.status === "parked" && task.wait !== null ? WAITS[task.wait] : "";
  return text === "" ? "" : `  ${style.yellow(text)}`;
};

function line(state: Mark, label: string, spent: Spent, indent: string, { style, columns }: TreeOptions): string {
  const start = `${indent}${mark(state, style)} ${label}`;
  if (spent.calls === 0) return start;
  const gap = " ".repeat(Math.max(2, LABEL_COLUMNS + 4 - visible(start)));
  const price = spent.usd === null ? "" : usd(spent.usd).padStart(11);
  const numbers = `${counted(spent.calls, "call").padStart(9)}${`${tokens(spent.tokens)} tokens`.padStart(15)}${price}`;
  return visible(start) + gap.length + numbers.length > columns ? start : `${start}${gap}${style.dim(numbers)}`;
}

/** Characters on the screen, without the colours. */
export const visible = (text: string): number => [...stripVTControlCharacters(text)].length;

/** What a run came to: calls, tokens, cost; then the receipt of what was not paid again. */
export function accountLines(
  run: Pick<RunJson, "usage" | "costUsd" | "simulated" | "receipt" | "budget" | "below">,
  style: Style,
): string[] {
  const { receipt, below } = run;
  const unpaid = receipt.unanswered === 0 ? "" : ` · ${grouped(receipt.unanswered)} without an answer`;
  const calls = `${counted(receipt.modelCalls, "model call")}${unpaid} · ${tokensLine(run.usage)} · ${cost(run.costUsd, run.simulated)}`;
  const saved =
    receipt.replayed === 0
      ? ""
      : ` (saved ${grouped(receipt.savedTokens)} tokens, ${cost(receipt.savedUsd, run.simulated)})`;
  const repaid = `re-paid ${grouped(receipt.repaid)}`;
  return [
    `  ${calls}`,
    `  replayed ${grouped(receipt.replayed)}${saved} · ${receipt.repaid === 0 ? repaid : style.red(repaid)}`,
    ...(below === null
      ? []
      : [
          `  below it ${counted(below.runs, "run")}: ${counted(below.modelCalls, "model call")} · ${grouped(below.tokens)} tokens · ${cost(below.costUsd, below.simulated)}`,
        ]),
    ...budgetLines(run.budget),
  ];
}

/** What may have been paid for calls that were never answered is in it, so it can be more than the cost. */
function budgetLines(budget: RunJson["budget"]): string[] {
  if (budget === null) return [];
  const { maxCostUsd, spentUsd, totalTokens: cap, spentTokens } = budget;
  const used = [
    ...(maxCostUsd === null ? [] : [`${cost(spentUsd, false)} of ${cost(maxCostUsd, false)}`]),
    ...(cap === null ? [] : [`${grouped(spentTokens)} of ${grouped(cap)} tokens`]),
  ];
  return [`  budget used: ${used.join(" · ")}`];
}

function tokensLine(u: Usage): string {
  const cached = u.cacheRead + u.cacheWrite === 0 ? "" : `, ${grouped(u.cacheRead)} cached`;
  return `${grouped(totalTokens(u))} tokens (${grouped(u.input + u.cacheWrite)} in${cached}, ${grouped(u.output)} out)`;
}

/** Why a run stands still or failed, in a line; none while all is well. */
export const reasonLines = (run: Pick<RunJson, "reason" | "status">, style: Style): string[] => {
  if (run.reason === null) return [];
  const paint = run.status === "failed" ? style.red : style.yellow;
  return [`  ${paint(cut(oneLine(run.reason), ERROR_TEXT_COLUMNS))}`];
};
