// A line of a check-up: what was looked at, how it is, what was found.
import { type Mark, mark, styleOf } from "./style.ts";
import { oneLine, type Terminal } from "./terminal.ts";

/** `note`: worth knowing, and no fault. */
export interface Finding {
  readonly what: string;
  readonly state: "ok" | "note" | "wrong";
  readonly found: string;
  /** To be copied: stands on lines of its own. */
  readonly command?: string;
}

const MARKS: Readonly<Record<Finding["state"], Mark>> = { ok: "done", note: "waiting", wrong: "failed" };

const WIDTH_MIN = 20;
const WIDTH_MAX = 44;

/** Below one another, each with its line break. */
export function findingLines(findings: readonly Finding[], terminal: Terminal): string {
  const width = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, ...findings.map(({ what }) => what.length)));
  return findings.map((finding) => `${lineOf(finding, width, terminal)}\n`).join("");
}

function lineOf(finding: Finding, width: number, terminal: Terminal): string {
  const line = `${mark(MARKS[finding.state], styleOf(terminal.out))} ${finding.what.padEnd(width)} ${oneLine(finding.found)}`;
  return finding.command === undefined
    ? line
    : `${line}\n    ${finding.command.replaceAll(" -p ", " \\\n      -p ").replace(" psql ", " \\\n      psql ")}`;
}
