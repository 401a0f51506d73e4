// Making room in a model's context window, in two tiers: old results of tools become a line each; then the older part of the conversation becomes a
// summary, by recorded calls. Here it is only decided what to do next; what was done is an event by value, so a replay applies it and evaluates nothing.
import { digestOf } from "../digest.ts";
import type { ErrorInfo } from "../errors.ts";
import type { TaskEvent } from "../events.ts";
import { type Json, utf8Bytes } from "../json.ts";
import {
  BYTES_PER_TOKEN,
  COMPACTION_PARTS_MAX,
  ELIDE_AT_PERCENT,
  ELIDE_MIN_CHARS,
  ELIDE_MIN_FREED_PERCENT,
  FOLD_AT_PERCENT,
  FOLD_MIN_FREED_PERCENT,
  FOLDS_IN_A_ROW_MAX,
  MEDIA_TOKENS,
  PART_BYTES_MIN,
  RECENT_MESSAGES_KEPT,
  RECENT_RESULTS_KEPT,
  SUMMARY_THOUGHT_PERCENT,
  SUMMARY_TOKENS_MAX,
  SUMMARY_TOKENS_MIN,
  SUMMARY_WINDOW_PERCENT,
  WINDOW_FULL_AT_PERCENT,
} from "../limits.ts";
import type { Message, ModelRequest, UserPart } from "../messages.ts";
import { type Header, merged, requestOf } from "./header.ts";
import { feedbackMessage, textOf } from "./history.ts";
import { pressure, tokensOf, tokensOfHeader, tokensOfMessages } from "./pressure.ts";
import type { TaskState } from "./task-state.ts";
import {
  elidedEffect,
  elidedResult,
  foldedSummary,
  mediaInWords,
  partSummaryRequest,
  summaryRequest,
} from "./texts.ts";

export type Shrink =
  | { readonly type: "record"; readonly event: TaskEvent & { type: "ToolResultsElided" | "ContextCompacted" } }
  /** A question about the conversation itself. */
  | { readonly type: "summarise"; readonly digest: string; readonly request: ModelRequest }
  | { readonly type: "fail"; readonly error: ErrorInfo };

const share = (percent: number, room: number): number => Math.floor((percent * room) / 100);

/** Null: there is room enough. `window` in tokens; null: unknown, so only a provider's own refusal says that it is full. */
export function shrink(state: TaskState, window: number | null): Shrink | null {
  const room = Math.min(window ?? Infinity, state.windowSeen ?? Infinity);
  if (room === Infinity) return null;
  const full = pressure(state.measured, state.history);
  if (full < share(ELIDE_AT_PERCENT, room)) return null;
  const toolUseIds = elidable(state, room);
  if (toolUseIds !== null) return { type: "record", event: { type: "ToolResultsElided", toolUseIds } };
  return full < share(FOLD_AT_PERCENT, room) ? null : fold(state, room, full);
}

/** Old results that take enough room to be worth the loss of the provider's cache; null: too little. */
function elidable(state: TaskState, room: number): string[] | null {
  const large: { id: string; freed: number }[] = [];
  let results = 0;
  for (const message of state.history.messages.toReversed())
    for (const part of message.content.toReversed()) {
      if (part.type !== "toolResult") continue;
      results++;
      if (results <= RECENT_RESULTS_KEPT || state.elided.has(part.toolUseId)) continue;
      const shown = part.media?.length ?? 0;
      if (part.text.length < ELIDE_MIN_CHARS && shown === 0) continue;
      large.push({ id: part.toolUseId, freed: tokensOf(part.text) + shown * MEDIA_TOKENS });
    }
  if (large.length === 0) return null;
  const stub = tokensOf(elidedResult("a_tool_of_usual_name"));
  const freed = large.reduce((sum, { freed }) => sum + freed - stub, 0);
  return freed < share(ELIDE_MIN_FREED_PERCENT, room) ? null : large.map(({ id }) => id).reverse();
}

/** The history with short texts in place of these results. */
export function withElided(
  messages: readonly Message[],
  { elided, external }: Pick<TaskState, "elided" | "external">,
): Message[] {
  const tools = new Map<string, string>();
  const short = (part: UserPart): UserPart => {
    if (part.type !== "toolResult" || !elided.has(part.toolUseId)) return part;
    const { type, toolUseId, isError } = part;
    const text = external.has(toolUseId) ? elidedEffect : elidedResult;
    return { type, toolUseId, text: text(tools.get(toolUseId) ?? "a tool"), isError };
  };
  return messages.map((message): Message => {
    if (message.role === "user") return { role: "user", content: message.content.map(short) };
    for (const part of message.content) if (part.type === "toolUse") tools.set(part.id, part.name);
    return message;
  });
}

export const summaryMessage = (summary: string): Message => feedbackMessage(foldedSummary(summary));

/** The second tier. */
function fold(state: TaskState, room: number, full: number): Shrink | null {
  const answer = Math.max(SUMMARY_TOKENS_MIN, Math.min(SUMMARY_TOKENS_MAX, share(SUMMARY_WINDOW_PERCENT, room)));
  const bursting = full >= share(WINDOW_FULL_AT_PERCENT, room);
  if (state.folds >= FOLDS_IN_A_ROW_MAX)
    return bursting ? { type: "fail", error: tooWordy(state.folds, room, full) } : null;
  const folded = boundary(state, room, full, answer, bursting);
  if (folded === null) return bursting ? { type: "fail", error: tooFull(state, room, full) } : null;
  const asked = summaryOf(state, folded, room, answer);
  if (asked.type !== "written") return asked;
  return { type: "record", event: { type: "ContextCompacted", folded, summary: asked.text } };
}

/**
 * How many messages to fold: the recent ones stay, and fewer of them when it would burst otherwise. Null: that would make no room, or so little that the
 * next step asked for a summary again. A call is never parted from its result.
 */
function boundary(
  { history: { messages } }: TaskState,
  room: number,
  full: number,
  answer: number,
  bursting: boolean,
): number | null {
  const least = bursting ? 0 : share(FOLD_MIN_FREED_PERCENT, room);
  const enough = (n: number): boolean => {
    const freed = tokensOfMessages(messages.slice(0, n)) - answer;
    return full - freed < share(FOLD_AT_PERCENT, room) && freed >= least && n > 0;
  };
  for (let kept = RECENT_MESSAGES_KEPT; kept >= (bursting ? 0 : RECENT_MESSAGES_KEPT); kept -= 2) {
    const n = legalBoundary(messages, messages.length - kept);
    if (enough(n)) return n;
  }
  const all = messages.length;
  return bursting && tokensOfMessages(messages) > 2 * answer ? all : null;
}

function legalBoundary(messages: readonly Message[], most: number): number {
  for (let n = most; n > 0; n--) {
    const next = messages[n];
    if (next === undefined || next.role === "assistant" || next.content.every((p) => p.type !== "toolResult")) return n;
  }
  return 0;
}

const tooFull = (state: TaskState, room: number, full: number): ErrorInfo => ({
  code: "context_exceeded",
  message: `The next request takes some ${full} tokens of a window of ${room}, ${tokensOfHeader(state.header)} of them for the system prompt and tools, and nothing in it can be made shorter.`,
});

const tooWordy = (folds: number, room: number, full: number): ErrorInfo => ({
  code: "compaction_failed",
  message: `The conversation was summarised ${folds} times in a row and still takes some ${full} tokens of a window of ${room}: the model's summaries are longer than it was asked for, or the system prompt and tools leave too little room.`,
});

type Written = { readonly type: "written"; readonly text: string } | (Shrink & { readonly type: "summarise" | "fail" });

/** The summary of the first `folded` messages, or the next question on the way to it: answers are found by what was asked, so a resume asks none twice. */
function summaryOf(state: TaskState, folded: number, room: number, answer: number): Written {
  const { header, history, summaries } = state;
  const prefix = history.messages.slice(0, folded);
  const prompt = summaryRequest(answer);
  const left = room - tokensOfHeader(header) - tokensOfMessages(prefix) - tokensOf(prompt);
  if (answer <= left) {
    // The request so far with one text more: the provider's cache serves it.
    const { outputSchema: _, ...request } = requestOf(header, history);
    const maxTokens = withThought(answer, header, left);
    const asked = question({ ...request, messages: asLastText(prefix, prompt), maxTokens });
    const text = summaries.get(asked.digest);
    if (text === undefined) return asked;
    if (text.trim() !== "") return { type: "written", text };
  }
  return summaryOfParts(state, prefix, room, answer);
}

/** A model thinks out of the same tokens: with the summary's own alone it would be cut before its first word. */
const withThought = (answer: number, { maxTokens }: Header, left: number): number =>
  Math.max(answer, Math.min(maxTokens, left));

/** Without tools and their blocks: for what is too long to be read at once, and where a model called a tool in place of answering. */
function summaryOfParts(state: TaskState, prefix: readonly Message[], room: number, answer: number): Written {
  const { header, summaries } = state;
  const maxTokens = withThought(answer, header, share(SUMMARY_THOUGHT_PERCENT, room));
  const asked = tokensOf(header.system) + tokensOf(partSummaryRequest(1, 1, " ", "", answer)) + answer + maxTokens;
  const parts = split(transcript(prefix), (room - asked) * BYTES_PER_TOKEN);
  if (parts === null) return { type: "fail", error: tooFull(state, room, asked) };
  let summary = "";
  for (const [i, part] of parts.entries()) {
    const text = partSummaryRequest(i + 1, parts.length, summary, part, answer);
    const { model, system, options } = header;
    const next = question({ model, system, tools: [], messages: [feedbackMessage(text)], maxTokens, options });
    const known = summaries.get(next.digest);
    if (known === undefined) return next;
    if (known.trim() === "") return { type: "fail", error: NO_SUMMARY };
    summary = known;
  }
  return { type: "written", text: summary };
}

const NO_SUMMARY: ErrorInfo = {
  code: "compaction_failed",
  message: "The conversation is too long for the model's window, and the model gave no summary of it, asked twice.",
};

const question = (request: ModelRequest): Shrink & { readonly type: "summarise" } => ({
  type: "summarise",
  digest: digestOf(request as unknown as Json),
  request,
});

function asLastText(prefix: readonly Message[], prompt: string): Message[] {
  const last = prefix.at(-1);
  const asked = feedbackMessage(prompt);
  const joined = last === undefined ? null : merged(last, asked);
  return joined === null ? [...prefix, asked] : [...prefix.slice(0, -1), joined];
}

/** A conversation in plain words. */
function transcript(messages: readonly Message[]): string {
  const lines: string[] = [];
  for (const message of messages)
    for (const part of message.content) {
      if (part.type === "text") lines.push(`${message.role === "user" ? "User" : "Assistant"}: ${part.text}`);
      if (part.type === "toolUse") lines.push(`Assistant calls ${part.name}: ${textOf(part.args)}`);
      if (part.type === "toolResult") lines.push(`Result${part.isError ? " (an error)" : ""}: ${part.text}`);
      for (const m of part.type === "toolResult" ? (part.media ?? []) : part.type === "media" ? [part] : [])
        lines.push(mediaInWords(m.kind, m.name));
    }
  return lines.join("\n\n");
}

/** Parts of at most so many bytes, none within a character; null: that can't be done within bounds. */
function split(text: string, bytes: number): string[] | null {
  if (bytes < PART_BYTES_MIN || utf8Bytes(text) > bytes * COMPACTION_PARTS_MAX) return null;
  const parts: string[] = [];
  let part = "";
  let size = 0;
  for (const piece of pieces(text)) {
    const more = utf8Bytes(piece);
    if (size + more > bytes) {
      parts.push(part);
      part = "";
      size = 0;
    }
    part += piece;
    size += more;
  }
  return part === "" && parts.length > 0 ? parts : [...parts, part];
}

/** Short enough that a part can be filled well; a character of two units stays whole. */
function* pieces(text: string): Generator<string> {
  const length = PART_BYTES_MIN / 4; // four bytes are the most that one character takes
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + length);
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to--;
    yield text.slice(from, to);
    from = to;
  }
}
