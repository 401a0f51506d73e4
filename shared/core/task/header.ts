// The part of a request that no step changes: what a role is, to its model. The digest chain starts here (I6).
import { chain, digestOf } from "../digest.ts";
import { type Json, wellFormed, wellFormedJson } from "../json.ts";
import type { Message, ModelRequest, ToolSchema } from "../messages.ts";
import { outputInstructions, sessionPreamble } from "./texts.ts";

/** What a role's author decided about its requests. */
export interface RoleText {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly options: Json;
  readonly maxTokens: number;
  readonly outputSchema: Json | null;
}

/** The same as requests carry it: well-formed, the instructions for the output in the system prompt. */
export interface Header extends RoleText {
  readonly digest: string;
  /** A digest a part, recorded once an attempt: a cut names the part that changed. */
  readonly parts: Readonly<Record<string, string>>;
}

/** `session`: what people say to it is added to the system prompt, so that a model knows that it talks with somebody. */
export function headerOf(role: RoleText, session = false): Header {
  const { model, options, maxTokens, outputSchema } = role;
  const base = wellFormed(role.system).trim();
  const spoken = session ? [base, sessionPreamble()].filter((text) => text !== "").join("\n\n") : base;
  const system =
    outputSchema === null
      ? spoken
      : [spoken, outputInstructions(outputSchema)].filter((text) => text !== "").join("\n\n");
  const tools = role.tools.map(({ name, description, inputSchema }) => ({
    name,
    description: wellFormed(description),
    inputSchema: wellFormedJson(inputSchema),
  }));
  const digested: Record<string, Json> = { model, system, tools, options, maxTokens };
  const parts = Object.fromEntries(Object.entries(digested).map(([name, part]) => [name, digestOf(part)]));
  return { model, system, tools, options, maxTokens, outputSchema, digest: digestOf(digested), parts };
}

/** Names of the parts that differ; none: it was the messages. */
export const changedParts = (
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): string[] => Object.keys(now).filter((name) => before[name] !== now[name]);

/** The conversation so far, with one chain value a message: appending costs what is new. */
export interface History {
  readonly messages: Message[];
  readonly links: string[];
  /** Messages that are read as history, and not digested: what a person was shown is a fact (I6a). Their chain value is `seal`. */
  sealed: number;
  seal: string;
  /** The event that sealed them; 0: none did. */
  sealedAt: number;
}

export const emptyHistory = (): History => ({ messages: [], links: [], sealed: 0, seal: "", sealedAt: 0 });

export function linkOf(header: Header, history: History): string {
  if (history.messages.length <= history.sealed && history.seal !== "") return history.seal;
  return history.links.at(-1) ?? header.digest;
}

/** From here on the chain starts anew, from today's header and the place in the log: an edit applies to what is asked next. */
export function sealHistory(header: Header, history: History, seq: number): void {
  history.sealed = history.messages.length;
  history.seal = digestOf([header.digest, seq]);
  history.sealedAt = seq;
}

/** Adds a message; consecutive ones of one role become one (feedback after results, the turns of a pause), as every provider wants it. */
export function append(header: Header, history: History, message: Message): void {
  if (message.content.length === 0) return; // a provider refuses an empty message
  const last = history.messages.at(-1);
  const next = last === undefined ? null : merged(last, message);
  const before =
    next === null || history.messages.length <= history.sealed
      ? linkOf(header, history)
      : linkBeforeLast(header, history);
  if (next !== null) {
    history.messages.pop();
    history.links.pop();
    history.sealed = Math.min(history.sealed, history.messages.length);
  }
  const added = next ?? message;
  history.messages.push(added);
  history.links.push(chain(before, added as unknown as Json));
}

function linkBeforeLast(header: Header, history: History): string {
  if (history.messages.length - 1 <= history.sealed && history.seal !== "") return history.seal;
  return history.links.at(-2) ?? header.digest;
}

/** As one message, which every provider wants; null: they are of different roles. */
export function merged(a: Message, b: Message): Message | null {
  if (a.role === "user" && b.role === "user") return { role: "user", content: [...a.content, ...b.content] };
  if (a.role === "assistant" && b.role === "assistant")
    return { role: "assistant", content: [...a.content, ...b.content] };
  return null;
}

export function requestOf(header: Header, history: History): ModelRequest {
  const { model, system, tools, maxTokens, options, outputSchema } = header;
  return {
    model,
    system,
    tools,
    messages: history.messages,
    maxTokens,
    options,
    ...(outputSchema === null ? {} : { outputSchema }),
  };
}
