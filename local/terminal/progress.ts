// A run's progress while it goes on: a tree redrawn in place on a terminal, a line for each change elsewhere.
import { stripVTControlCharacters } from "node:util";
import type { RunJson, TaskJson } from "../../shared/http/run-json.ts";
import { styleOf } from "./style.ts";
import { cut, type Output, oneLine } from "./terminal.ts";
import { headline, isEnded, markOfTask, reasonLines, treeLines, visible, type WaveNames } from "./tree.ts";
import { shortId } from "./units.ts";
import { openApprovals, waitLines, waitsForPerson } from "./waits.ts";

export interface Progress {
  show(run: RunJson, names: WaveNames): void;
  /** Says something beside the run, without harming the tree. */
  say(text: string): void;
  /** Leaves the terminal as it was; what was shown last stays. */
  end(): void;
}

/** Redrawn this often, so that the clock moves while nothing else does. */
const REDRAW_MS = 500;
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";

export const createProgress = (output: Output): Progress =>
  output.size() === null ? plainProgress(output) : liveProgress(output);

/** For runs that nobody watches: only what has to be said is. */
export function quietProgress(output: Output): Progress {
  const announce = announcer(output);
  return { show: announce, say: (text) => output.write(`${text}\n`), end: () => {} };
}

/** Says what a run waits for, once for every call and cut: whoever started it may be the one to decide. */
function announcer(output: Output): (run: RunJson) => void {
  const style = styleOf(output);
  let said = "";
  return (run) => {
    const waiting = [...openApprovals(run).map((a) => a.key), ...run.cuts.map((c) => `${c.stream} ${c.requestedAt}`)];
    const now = waiting.join(" ");
    if (now !== said && waiting.length > 0) output.write(`${waitLines(run, style, Date.now()).join("\n")}\n`);
    said = now;
  };
}

function liveProgress(output: Output): Progress {
  const style = styleOf(output);
  let drawn = 0;
  let last: { run: RunJson; names: WaveNames } | null = null;
  let timer: NodeJS.Timeout | undefined;

  const erase = (): string => (drawn === 0 ? "" : `\u001b[${drawn}F\u001b[J`);
  const draw = (): void => {
    if (last === null) return;
    const { columns, rows } = output.size() ?? { columns: 80, rows: 24 };
    const { run, names } = last;
    const tree = treeLines(run, { style, names, columns, rows: Math.max(3, rows - 6) });
    const now = Date.now();
    const why = waitsForPerson(run) ? waitLines(run, style, now) : reasonLines(run, style);
    const lines = ["", headline(run, style, now), ...tree, ...why].map((text) => within(text, columns));
    output.write(`${erase()}${lines.join("\n")}\n`);
    drawn = lines.length;
  };
  return {
    show: (run, names) => {
      if (last === null) output.write(HIDE_CURSOR);
      last = { run, names };
      draw();
      if (isEnded(run)) clearInterval(timer);
      else if (timer === undefined) timer = setInterval(draw, REDRAW_MS).unref();
    },
    say: (text) => {
      output.write(`${erase()}${text}\n`);
      drawn = 0;
      draw();
    },
    end: () => {
      clearInterval(timer);
      if (last !== null) output.write(SHOW_CURSOR);
      last = null;
      drawn = 0;
    },
  };
}

/** A line longer than the terminal would wrap, and the count of drawn lines be wrong; such a line loses its colours and its end. */
const within = (text: string, columns: number): string =>
  visible(text) <= columns ? text : cut(stripVTControlCharacters(text), columns);

function plainProgress(output: Output): Progress {
  let before = new Map<string, string>();
  let status = "";
  const announce = announcer(output);
  return {
    show: (run, names) => {
      const now = new Map<string, string>();
      for (const wave of run.waves) {
        for (const task of wave.tasks) {
          const state = stateOf(task);
          now.set(task.taskId, state);
          if (before.get(task.taskId) !== state) output.write(`${taskText(task, names.get(wave.wave), state)}\n`);
        }
      }
      before = now;
      if (run.status !== status)
        output.write(
          `run ${shortId(run.runId)} ${run.status}${run.reason === null || waitsForPerson(run) ? "" : ` (${oneLine(run.reason)})`}\n`,
        );
      status = run.status;
      announce(run);
    },
    say: (text) => output.write(`${text}\n`),
    end: () => {},
  };
}

/** Ready and running take turns with every hand-over; a reader of lines only wants to know that it goes on. */
const stateOf = (task: TaskJson): string => {
  const state = markOfTask(task);
  return state === "waiting" ? "running" : state === "parked" ? `waits (${task.wait ?? "?"})` : state;
};

const taskText = (task: TaskJson, wave: string | undefined, state: string): string =>
  `${task.taskId} ${task.role ?? "?"}${wave === undefined || wave === task.role ? "" : ` (${wave})`} ${state}`;
