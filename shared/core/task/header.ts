// The part of a request that no step changes: what a role is, to its model. The digest chain starts here (I6).
import { chain, digestOf } from "../digest.ts";
import { type Json, wellFormed } from "../json.ts";
import type { Message, ModelRequest, ToolSchema } from "../messages.ts";
import { outputInstructions } from "./texts.ts";

/** What a role's author decided about its requests. */
export interface RoleText {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly options: Json;
  readonly maxTokens: number;
  readonly outputSchema: Json | null;
}

export interface Header {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly options: Json;
  readonly maxTokens: number;
  readonly outputSchema: Json | null;
  readonly digest: string;
  /** A digest a part, recorded once an attempt: a cut names the part that changed. */
  readonly parts: Readonly<Record<string, string>>;
}

export function headerOf(role: RoleText): Header {
  const { model, options, maxTokens, outputSchema } = role;
  const base = wellFormed(role.system).trim();
  const system =
    outputSchema === null ? base : [base, outputInstructions(outputSchema)].filter((text) => text !== "").join("\n\n");
  const tools = role.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
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
}

export const linkOf = (header: Header, history: History): string => history.links.at(-1) ?? header.digest;

/** Adds a message; consecutive user messages become one, as every provider wants it. */
export function append(header: Header, history: History, message: Message): void {
  if (message.content.length === 0) return; // a provider refuses an empty message
  const last = history.messages.at(-1);
  let next = message;
  if (message.role === "user" && last?.role === "user") {
    next = { role: "user", content: [...last.content, ...message.content] };
    history.messages.pop();
    history.links.pop();
  }
  const before = linkOf(header, history);
  history.messages.push(next);
  history.links.push(chain(before, next as unknown as Json));
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
