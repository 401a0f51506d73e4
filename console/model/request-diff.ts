// What changed from one request to the next: a part at a time, lines within a part. Messages that both begin with are counted, not compared again.
import { diffArrays } from "diff";
import type { CallJson, RequestJson } from "../../shared/http/call-json.ts";
import { readable } from "./text.ts";

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "skipped";
  readonly text: string;
}

export interface PartDiff {
  readonly name: string;
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
}

/** Lines around a change that stay shown. */
const CONTEXT = 2;
/** Beyond these both sides are shown whole: to look for the least difference would take longer than to read it. */
const EDITS_MAX = 1_000;
const DIFF_MS = 300;

export function lineDiff(before: string, after: string): DiffLine[] {
  const [a, b] = [lines(before), lines(after)];
  const changes = diffArrays(a, b, { maxEditLength: EDITS_MAX, timeout: DIFF_MS }) ?? [
    { value: a, removed: true, added: false },
    { value: b, added: true, removed: false },
  ];
  return changes.flatMap(({ value, added, removed }) =>
    value.map((text): DiffLine => ({ kind: added ? "added" : removed ? "removed" : "same", text })),
  );
}

const lines = (text: string): string[] => (text === "" ? [] : text.split("\n"));

/** Long stretches without a change become one line that counts them. */
export function folded(all: readonly DiffLine[]): DiffLine[] {
  const near = (i: number): boolean =>
    all.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some((line) => line.kind !== "same");
  const result: DiffLine[] = [];
  for (let i = 0; i < all.length; ) {
    let end = i;
    while (end < all.length && !near(end)) end++;
    if (end - i > 1) result.push({ kind: "skipped", text: `${end - i} lines unchanged` });
    else if (end > i) result.push(all[i] as DiffLine);
    if (end > i) i = end;
    else result.push(all[i++] as DiffLine);
  }
  return result;
}

const settingsOf = (r: RequestJson): string => {
  const { model, maxTokens, options, outputSchema } = r;
  return readable({ model, maxTokens, options, ...(outputSchema === null ? {} : { outputSchema }) });
};
const toolsOf = (r: RequestJson): string =>
  r.tools.map((tool) => `${tool.name}: ${tool.description}\n${readable(tool.inputSchema)}`).join("\n\n");

type Part = Readonly<Record<string, unknown>>;

/** A message as people read it. */
export function partText(part: Part): string {
  if (part.type === "text") return String(part.text);
  if (part.type === "toolUse") return `calls ${part.name}\n${readable(part.args)}`;
  if (part.type === "toolResult") return String(part.text);
  if (part.type === "media") return `shows ${part.kind} ${part.name}`;
  return `reasoning of ${part.provider}, kept as it was given`;
}
const messagesText = (messages: RequestJson["messages"]): string =>
  messages.map((m) => `${m.role}:\n${m.content.map(partText).join("\n")}`).join("\n\n");

/** Null: one of the two can't be read. */
export function requestDiff({ request, previous }: CallJson): PartDiff[] | null {
  if (request === null || previous?.request == null) return null;
  const before = previous.request;
  // What was left out for its size stands before the shared ones: both sides are read from their ends.
  const fresh = request.messages.slice(Math.max(0, previous.shared - request.omitted));
  const parts = [
    ["System prompt", before.system, request.system],
    ["Tools", toolsOf(before), toolsOf(request)],
    ["Settings", settingsOf(before), settingsOf(request)],
    ["Messages", messagesText(before.messages), messagesText(fresh)],
  ] as const;
  return parts.map(([name, a, b]) => {
    const all = lineDiff(a, b);
    const head: DiffLine[] =
      name === "Messages" && previous.shared > 0
        ? [{ kind: "skipped", text: `${previous.shared} ${previous.shared === 1 ? "message" : "messages"} unchanged` }]
        : [];
    return {
      name,
      lines: [...head, ...folded(all)],
      added: all.filter((line) => line.kind === "added").length,
      removed: all.filter((line) => line.kind === "removed").length,
    };
  });
}
