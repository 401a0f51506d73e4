// The edit that the demo makes in its copy of the writer's prompt: one rule more, in the list of rules that is there.
const RULE = "- Prefer short sentences: the reader is in a hurry.";

export interface Edit {
  readonly text: string;
  /** The line that was added. */
  readonly added: string;
  /** Its number, counted from 1. */
  readonly line: number;
}

/** Adds the rule before the first list item; at the end where there is no list. */
export function editPrompt(prompt: string): Edit {
  const lines = prompt.trimEnd().split("\n");
  const item = lines.findIndex((line) => line.startsWith("- "));
  const at = item < 0 ? lines.length : item;
  return { text: `${lines.toSpliced(at, 0, RULE).join("\n")}\n`, added: RULE, line: at + 1 };
}
