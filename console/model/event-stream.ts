// Server-sent events as they come in pieces, and what a model says while it says it. Pure.

export interface SentEvent {
  readonly name: string;
  readonly data: string;
  /** Null: it has none. */
  readonly id: string | null;
}

/** Takes text as it comes; gives the events that are whole by now. */
export function eventReader(): (piece: string) => SentEvent[] {
  let rest = "";
  return (piece) => {
    const blocks = (rest + piece).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => eventOf(block) ?? []);
  };
}

function eventOf(block: string): SentEvent | null {
  let name = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    const [field, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    if (field === "event") name = value;
    if (field === "id") id = value;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { name, id, data: data.join("\n") };
}

/** A piece of an answer that is being made. */
export interface Delta {
  readonly stream: string;
  /** The seq of its call's LlmCallStarted. */
  readonly call: number;
  readonly attempt: number;
  readonly type: "text" | "reasoning" | "restart";
  /** Where it begins in what this call has said of this type. */
  readonly at: number;
  readonly text: string;
}

export interface Saying {
  readonly call: number;
  readonly attempt: number;
  readonly text: string;
  readonly reasoning: string;
}

export const SILENCE: Saying = { call: 0, attempt: 0, text: "", reasoning: "" };

/** Deltas are hints: some come twice, late or never. A new call or attempt begins anew; behind a gap the record is waited for. */
export function heard(saying: Saying, delta: Delta): Saying {
  const { call, attempt, type } = delta;
  if (call < saying.call || (call === saying.call && attempt < saying.attempt)) return saying;
  const anew = call > saying.call || attempt > saying.attempt || type === "restart";
  const before = anew ? { ...SILENCE, call, attempt } : saying;
  if (type === "restart") return before;
  const said = before[type];
  if (delta.at > said.length || delta.at + delta.text.length <= said.length) return before;
  return { ...before, [type]: said.slice(0, delta.at) + delta.text };
}

/** What is on record replaces what was heard. */
export const recorded = (saying: Saying, call: number): Saying =>
  call >= saying.call ? { ...SILENCE, call, attempt: Number.MAX_SAFE_INTEGER } : saying;
