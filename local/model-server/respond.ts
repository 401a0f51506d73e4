import {
  answerFromConversation,
  answerFromNotes,
  answerFromPassages,
  answerFromResults,
  restatement,
  type ToolResult,
} from "./answer.ts";
import { type ChatMessage, type ChatRequest, type ToolDefinition, textOf } from "./chat.ts";
import { fill } from "./fill.ts";
import { canonical, isObject, type Json, parseJson, sha256 } from "./json.ts";
import { CHARS_PER_TOKEN } from "./limits.ts";
import { type Passage, readPassages } from "./passages.ts";
import { findQuotes, groupQuotes } from "./quotes.ts";
import { summaryAsked } from "./summary.ts";
import { taskOf } from "./task.ts";
import { type Call, forcedCall, nextCalls, type Progress } from "./tools.ts";

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: 0 };
}

export type Answer = { readonly usage: Usage } & (
  | { readonly kind: "text"; readonly text: string; readonly finishReason: "stop" | "length" }
  | { readonly kind: "calls"; readonly calls: readonly (Call & { readonly id: string })[] }
);

/**
 * The rules, on nothing but the request, so that the same request always gets the same answer: call tools while that
 * helps; then fill the schema if one is asked for; else answer with quotes of what was seen, what tools said, or what the user
 * said before; else say what this is.
 */
export function respond(request: ChatRequest): Answer {
  const userText = lastUserText(request.messages);
  const task = taskOf(userText);
  const summary = summaryAsked(request.messages, userText);
  const calls = summary === null ? callsNow(request, task) : [];
  if (calls.length > 0) {
    const digest = requestDigest(request as Json);
    const identified = calls.map((call, i) => ({ ...call, id: `call_${sha256(`${digest}:${i}`).slice(0, 24)}` }));
    return { kind: "calls", calls: identified, usage: usageOf(request, canonical(calls as unknown as Json)) };
  }
  const text = summary ?? textNow(request, task, userText);
  const most = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
  const cut = text.length > most * CHARS_PER_TOKEN ? text.slice(0, most * CHARS_PER_TOKEN) : text;
  return { kind: "text", text: cut, finishReason: cut === text ? "stop" : "length", usage: usageOf(request, cut) };
}

export function requestDigest(body: Json): string {
  return sha256(canonical(body));
}

function textNow(request: ChatRequest, task: string, userText: string): string {
  const { messages, response_format: format } = request;
  if (format?.type === "json_schema") {
    const passages = seenPassages(messages, userText);
    const prose = passages.length > 0 ? answerFromPassages(task, passages) : task;
    return JSON.stringify(fill(format.json_schema.schema, { text: task, prose }, "all"));
  }
  const text = answerText(messages, task, userText);
  return format?.type === "json_object" ? JSON.stringify({ answer: text }) : text;
}

function answerText(messages: readonly ChatMessage[], task: string, userText: string): string {
  const passages = seenPassages(messages, userText);
  const groups = groupQuotes(userText);
  if (groups.length > 0) return answerFromNotes(task, groups);
  if (passages.length > 0) return answerFromPassages(task, passages);
  const results = resultsSince(messages);
  if (results.length > 0) return answerFromResults(task, results);
  const said = messages.filter((message) => message.role === "user").slice(0, -1);
  return (
    answerFromConversation(
      task,
      said.flatMap((message) => textOf(message).split("\n")),
    ) ?? restatement(task)
  );
}

function callsNow(request: ChatRequest, task: string): Call[] {
  const { tool_choice: choice = "auto", parallel_tool_calls: parallel = true } = request;
  if (request.tools === undefined || choice === "none") return [];
  const tools = request.tools.map((tool) => tool.function);
  const offered = typeof choice === "string" ? tools : tools.filter((tool) => tool.name === choice.function.name);
  const calls = nextCalls(progressOf(request.messages, offered, task));
  const first = offered[0];
  const forced = choice !== "auto" && calls.length === 0 && first !== undefined ? [forcedCall(first, task)] : calls;
  return parallel ? forced : forced.slice(0, 1);
}

/** What was done since the user last spoke; what was seen counts from the beginning. */
function progressOf(messages: readonly ChatMessage[], tools: readonly ToolDefinition[], task: string): Progress {
  const asked = sinceUser(messages).flatMap((message) =>
    message.role === "assistant" ? [message.tool_calls ?? []] : [],
  );
  const made = asked.flat().map((call) => {
    const args = parseJson(call.function.arguments);
    return { tool: call.function.name, args: isObject(args) ? args : {} };
  });
  const rounds = asked.filter((calls) => calls.length > 0).length;
  return { task, tools, rounds, made, seen: readPassages(toolTexts(messages)) };
}

function sinceUser(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.slice(messages.findLastIndex((message) => message.role === "user") + 1);
}

/** The results of the tools that were called since the user last spoke, each with its tool. */
function resultsSince(messages: readonly ChatMessage[]): ToolResult[] {
  const since = sinceUser(messages);
  const calls = since.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []));
  return since.flatMap((message) => {
    if (message.role !== "tool") return [];
    const tool = calls.find((call) => call.id === message.tool_call_id)?.function.name ?? "";
    return [{ tool, text: textOf(message) }];
  });
}

function seenPassages(messages: readonly ChatMessage[], userText: string): readonly Passage[] {
  const fromTools = readPassages(toolTexts(messages)).passages;
  if (fromTools.length > 0) return fromTools;
  return findQuotes(userText).length > 0 ? [] : readPassages([userText]).passages;
}

function toolTexts(messages: readonly ChatMessage[]): string[] {
  return messages.filter((message) => message.role === "tool").map(textOf);
}

function lastUserText(messages: readonly ChatMessage[]): string {
  const last = messages.findLast((message) => message.role === "user") ?? messages.at(-1);
  return last === undefined ? "" : textOf(last);
}

/** Lengths in characters stand for tokens: everything that was sent counts, as it would be billed. */
function usageOf(request: ChatRequest, completion: string): Usage {
  const sent = { messages: request.messages, tools: request.tools ?? [], format: request.response_format ?? null };
  const prompt = Math.ceil(canonical(sent as unknown as Json).length / CHARS_PER_TOKEN);
  const written = Math.ceil(completion.length / CHARS_PER_TOKEN);
  return {
    prompt_tokens: prompt,
    completion_tokens: written,
    total_tokens: prompt + written,
    prompt_tokens_details: { cached_tokens: 0 },
  };
}
