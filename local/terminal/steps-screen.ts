// What the demo shows while it goes on: a line for each thing that happens, with the time since the start; on a terminal the run's tree stays below them.

import { totalTokens } from "../../shared/core/messages.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Style, styleOf } from "../terminal/style.ts";
import { type Output, oneLine, printable } from "../terminal/terminal.ts";
import { headline, treeLines, visible, type WaveNames } from "../terminal/tree.ts";
import { counted, tokens } from "../terminal/units.ts";
import { wrap } from "./wrap.ts";

export type Tone = "plain" | "good" | "bad" | "edit";

export interface Screen {
  readonly style: Style;
  readonly columns: number;
  readonly live: boolean;
  /** One thing that happened: a word for it, and what there is to say, wrapped. */
  step(label: string, text: string, tone?: Tone): void;
  /** More of the same step, as it stands: a diff, a path. */
  detail(text: string): void;
  print(lines: readonly string[]): void;
  /** Another act begins. */
  gap(): void;
  /** The run as it is now. Elsewhere than on a terminal: a line for each task that ended since. */
  run(run: RunJson, names: WaveNames): void;
  /** Takes the tree away. */
  clear(): void;
}

/** Lines longer than that are hard to read, however wide the terminal is. */
const COLUMNS_MAX = 100;
const TIME_COLUMNS = 7;
const LABEL_COLUMNS = 9;
const INDENT = " ".repeat(TIME_COLUMNS + LABEL_COLUMNS + 4);
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";

/** `now` in milliseconds, of any clock that doesn't step back. */
export function createScreen(output: Output, now: () => number): Screen {
  const style = styleOf(output);
  const startedAt = now();
  const columns = Math.min(output.size()?.columns ?? COLUMNS_MAX, COLUMNS_MAX);
  const live = output.size() === null ? null : liveTree(output, style);
  const told = new Set<string>();
  const write = (lines: readonly string[]): void => {
    live?.erase();
    output.write(lines.map((line) => `${line}\n`).join(""));
    live?.draw();
  };
  const step = (label: string, text: string, tone: Tone = "plain"): void => {
    const seconds = `${((now() - startedAt) / 1_000).toFixed(1)} s`.padStart(TIME_COLUMNS);
    // A reader of lines (a file, grep) wants each thing on one.
    const width = live === null ? Number.POSITIVE_INFINITY : columns - INDENT.length;
    const [first = "", ...rest] = wrap(printable(text), width);
    const name = paintOf(tone, style)(label.padEnd(LABEL_COLUMNS));
    write([`${style.dim(seconds)}  ${name}  ${first}`, ...rest.map((line) => INDENT + line)]);
  };
  return {
    style,
    columns,
    live: live !== null,
    step,
    detail: (text) => write([INDENT + text]),
    print: write,
    gap: () => write([""]),
    run: (run, names) => {
      if (live !== null) return live.show(run, names);
      for (const { text, well } of endedTasks(run, told))
        step(well ? "recorded" : "ended", text, well ? "plain" : "bad");
    },
    clear: () => live?.end(),
  };
}

const paintOf = (tone: Tone, style: Style): ((text: string) => string) =>
  ({ plain: style.bold, good: style.green, bad: style.red, edit: style.yellow })[tone];

/** Tasks that ended since the last call. */
function endedTasks(run: RunJson, told: Set<string>): { text: string; well: boolean }[] {
  const tasks = run.waves.flatMap((wave) => wave.tasks);
  const fresh = tasks.filter(({ taskId, outcome }) => outcome !== null && !told.has(taskId));
  for (const { taskId } of fresh) told.add(taskId);
  return fresh.map((task) => {
    const spent = `${counted(task.receipt.modelCalls, "call")}, ${tokens(totalTokens(task.usage))} tokens`;
    return {
      text: oneLine(`${task.role ?? "?"} ${task.taskId} ${task.outcome}: ${spent}`),
      well: task.outcome === "completed",
    };
  });
}

function liveTree(output: Output, style: Style) {
  let shown: { run: RunJson; names: WaveNames } | null = null;
  let drawn = 0;
  const erase = (): void => {
    if (drawn > 0) output.write(`\u001b[${drawn}F\u001b[J`);
    drawn = 0;
  };
  const draw = (): void => {
    if (shown === null) return;
    const { columns, rows } = output.size() ?? { columns: 80, rows: 24 };
    const tree = treeLines(shown.run, { style, names: shown.names, columns, rows: Math.max(3, rows - 6) });
    // A line that wraps would make the count of drawn lines wrong.
    const lines = ["", headline(shown.run, style, Date.now()), ...tree].filter((line) => visible(line) <= columns);
    output.write(`${lines.join("\n")}\n`);
    drawn = lines.length;
  };
  return {
    erase,
    draw,
    show: (run: RunJson, names: WaveNames): void => {
      if (shown === null) output.write(HIDE_CURSOR);
      erase();
      shown = { run, names };
      draw();
    },
    end: (): void => {
      erase();
      if (shown !== null) output.write(SHOW_CURSOR);
      shown = null;
    },
  };
}
