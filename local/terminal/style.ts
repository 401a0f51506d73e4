// Colours and marks. Few of them: what is well is quiet, what needs a look stands out.
import type { Output } from "./terminal.ts";

type Paint = (text: string) => string;

export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly green: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
  /** A command to be copied, given without the program's name. */
  readonly command: Paint;
}

type Colours = Omit<Style, "command">;

const code =
  (on: number, off: number): Paint =>
  (text) =>
    text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
const plain: Paint = (text) => text;

const COLOURED: Colours = {
  bold: code(1, 22),
  dim: code(2, 22),
  green: code(32, 39),
  red: code(31, 39),
  yellow: code(33, 39),
  cyan: code(36, 39),
};
const PLAIN: Colours = { bold: plain, dim: plain, green: plain, red: plain, yellow: plain, cyan: plain };

export function styleOf({ colour, program = "toren" }: Output): Style {
  const colours = colour ? COLOURED : PLAIN;
  return { ...colours, command: (text) => colours.cyan(`${program} ${text}`) };
}

/** One mark for every state that a run, a wave or a task can show. */
export type Mark = "waiting" | "running" | "parked" | "done" | "failed" | "cancelled";

export function mark(which: Mark, style: Style): string {
  switch (which) {
    case "waiting":
      return style.dim("○");
    case "running":
      return style.cyan("◐");
    case "parked":
      return style.yellow("◌");
    case "done":
      return style.green("✔");
    case "failed":
      return style.red("✘");
    case "cancelled":
      return style.yellow("⊘");
  }
}
