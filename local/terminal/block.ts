// Some lines at the bottom of a terminal that are drawn anew in place, and wiped before anything that stays.
import type { Output } from "./terminal.ts";
import { printable } from "./terminal.ts";

export interface Block {
  /** Lines no longer than the terminal is wide. */
  draw(lines: readonly string[]): void;
  erase(): void;
}

export function createBlock(output: Output): Block {
  let drawn = 0;
  const wiped = (): string => (drawn === 0 ? "" : `\u001b[${drawn}F\u001b[J`);
  return {
    draw: (lines) => {
      output.write(`${wiped()}${lines.map((line) => `${line}\n`).join("")}`);
      drawn = lines.length;
    },
    erase: () => {
      if (drawn > 0) output.write(wiped());
      drawn = 0;
    },
  };
}

const WIDE =
  /\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Emoji_Presentation}|[\u3000-\u303f\uff00-\uff60]/u;
const NONE = /\p{M}|\u200b|\u200c|\u200d/u;
const widthOf = (character: string): number => (NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** The last lines of a text as a terminal of so many columns shows it. */
export function lastLines(text: string, columns: number, most: number): string[] {
  const end = printable(text.slice(-columns * most)).replaceAll("\t", "  ");
  const lines = end.split("\n").flatMap((line) => wrapped(line, columns));
  return lines.slice(-most);
}

function wrapped(line: string, columns: number): string[] {
  const lines: string[] = [];
  let open = "";
  let width = 0;
  for (const character of line) {
    const more = widthOf(character);
    if (width + more > columns) {
      const space = open.lastIndexOf(" ");
      const word = space > columns / 2 ? open.slice(space + 1) : "";
      lines.push(word === "" ? open : open.slice(0, space));
      open = word;
      width = [...word].reduce((sum, c) => sum + widthOf(c), 0);
    }
    open += character;
    width += more;
  }
  return [...lines, open].map((shown) => shown.trimEnd());
}
