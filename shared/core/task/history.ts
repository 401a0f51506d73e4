// From the log to what a model is sent: always legal, whatever the log holds. One message of results per answer, in call order; no empty block,
// no lone surrogate; ids and names that every provider takes. The log keeps the originals.
import { canonical, type Json, wellFormed, wellFormedJson } from "../json.ts";
import type { AssistantPart, MediaPart, Message, ModelResponse, ToolUsePart, UserPart } from "../messages.ts";
import { emptyInput, emptyResult } from "./texts.ts";

const LEGAL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** A tool's name as it may go out; the tools of a role have legal ones, a model may invent others. */
const legalName = (name: string): string =>
  LEGAL_ID.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";

/** Providers take objects only; such a call was refused, and its result says so. */
const legalArgs = (args: Json): Json =>
  args !== null && typeof args === "object" && !Array.isArray(args) ? wellFormedJson(args) : {};

/** Text for a model from any JSON: text as it is, the rest as canonical JSON. */
export const textOf = (value: Json): string => wellFormed(typeof value === "string" ? value : canonical(value));

export const inputMessage = (input: Json): Message => {
  const text = textOf(input);
  return { role: "user", content: [{ type: "text", text: text.trim() === "" ? emptyInput() : text }] };
};

/** Feedback quotes the model's own keys, so it can hold what an answer held. */
export const feedbackMessage = (text: string): Message => ({
  role: "user",
  content: [{ type: "text", text: wellFormed(text) }],
});

/** What of an answer goes back to the model. */
export function answerMessage(content: readonly AssistantPart[]): Message {
  const parts = content.flatMap((part): AssistantPart[] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: wellFormed(part.text) }];
    if (part.type === "toolUse")
      return [{ type: "toolUse", id: part.id, name: legalName(part.name), args: legalArgs(part.args) }];
    return [part]; // reasoning: string-identical with its turn
  });
  return { role: "assistant", content: parts };
}

export interface CallResult {
  readonly toolUseId: string;
  readonly result: Json;
  readonly isError: boolean;
  readonly media?: readonly MediaPart[] | undefined;
}

export function resultsMessage(results: readonly CallResult[]): Message {
  const content = results.map(({ toolUseId, result, isError, media = [] }): UserPart => {
    const text = textOf(result);
    const shown = media.length === 0 ? {} : { media };
    return { type: "toolResult", toolUseId, text: text.trim() === "" ? emptyResult() : text, isError, ...shown };
  });
  return { role: "user", content };
}

/**
 * An answer as it is recorded: every tool use has an id of its own within the task (c4), legal for every provider. Ids that are fine stay.
 * `used` holds the ids of the whole raw log, and is not changed.
 */
export function normalise(response: ModelResponse, used: ReadonlySet<string>): ModelResponse {
  const here = new Set<string>(); // beside `used`, not a copy of it: a step of a long task costs what is new in it
  const content = response.content.map((part): AssistantPart => {
    if (part.type !== "toolUse") return part;
    const id = freeId(part.id, (wanted) => used.has(wanted) || here.has(wanted));
    here.add(id);
    return id === part.id ? part : { ...part, id };
  });
  return { ...response, content };
}

function freeId(wanted: string, taken: (id: string) => boolean): string {
  const base = LEGAL_ID.test(wanted) ? wanted : `call_${wanted.replace(/[^a-zA-Z0-9_-]/g, "").slice(0, 40)}`;
  if (!taken(base)) return base;
  for (let n = 2; ; n++) {
    const id = `${base.slice(0, 56)}_${n}`;
    if (!taken(id)) return id;
  }
}

export const toolUses = (content: readonly AssistantPart[]): ToolUsePart[] =>
  content.filter((part) => part.type === "toolUse");

/** The answer's text, whole. */
export const answerText = (content: readonly AssistantPart[]): string =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
