// From a question to the body of a chat completions request.
import type OpenAI from "openai";
import { canonical, type JsonObject } from "../../../core/json.ts";
import { OPENAI_CALLS_PER_MESSAGE_MAX, OPENAI_OUTPUT_TOKENS_MIN } from "../../../core/limits.ts";
import type { AssistantPart } from "../../../core/messages.ts";
import { emptyResult } from "../../../core/task/texts.ts";
import { inWords, type ReadyMessage, type ShownFile, type TextPart } from "../media.ts";
import { familyOf } from "./families.ts";
import { dataUrl, fileName, shownBy } from "./files.ts";
import type { Draft, LeftOut } from "./leave-out.ts";
import { objectOf } from "./options.ts";
import { readNote } from "./reasoning.ts";
import type { Question } from "./responses-request.ts";
import { answerSchema, wireFunction } from "./schemas.ts";

export type ChatBody = OpenAI.Chat.Completions.ChatCompletionCreateParams;
type Wire = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type Part = OpenAI.Chat.Completions.ChatCompletionContentPart;

export interface ChatDraft extends Draft {
  readonly body: ChatBody;
}

/** `streamed`: the answer may take longer than a whole one can be waited for. */
export function chatDraft(question: Question, streamed: boolean, leftOut: LeftOut): ChatDraft {
  const { settings, request, watched } = question;
  const { model, baseURL } = settings;
  const { api: _, background: __, tool_choice, parallel_tool_calls, ...options } = objectOf(request.options);
  const { messages, files, reasoning } = wireMessages(question, leftOut);
  const tools = request.tools.map((tool) => ({ type: "function" as const, function: wireFunction(tool) }));
  const schema = leftOut.schema ? null : schemaOf(question);
  const stream = !leftOut.stream && (!baseURL || watched || streamed);
  const streamOptions = stream && !leftOut.streamOptions;
  const choice = {
    ...(tool_choice === undefined ? {} : { tool_choice }),
    ...(parallel_tool_calls === undefined ? {} : { parallel_tool_calls }),
  };
  const body = {
    model,
    messages,
    ...mostTokens(settings, request.maxTokens),
    ...(tools.length === 0 ? {} : { tools, ...choice }),
    ...(schema === null ? {} : { response_format: { type: "json_schema", json_schema: { name: "output", schema } } }),
    ...options,
    stream, // last: an option of that name would change the form of the answer
    ...(streamOptions ? { stream_options: { include_usage: true } } : {}),
  };
  return {
    body: body as unknown as ChatBody,
    reasoning,
    encrypted: false,
    schema: schema !== null,
    stream,
    streamOptions,
    files,
  };
}

/** OpenAI's newer models refuse max_tokens, behind a gateway too; other servers often know nothing else. */
function mostTokens({ model, baseURL }: Question["settings"], maxTokens: number): object {
  const reasons = (familyOf(model)?.efforts?.length ?? 1) > 0 && familyOf(model) !== null;
  if (baseURL && !reasons) return { max_tokens: maxTokens };
  return { max_completion_tokens: Math.max(OPENAI_OUTPUT_TOKENS_MIN, maxTokens) };
}

/** A server of one's own may take any schema, and says so if it doesn't. */
function schemaOf({ settings, request: { outputSchema } }: Question): object | null {
  if (!settings.baseURL) return answerSchema(outputSchema);
  return outputSchema === undefined ? null : (outputSchema as JsonObject);
}

interface Written {
  readonly messages: readonly Wire[];
  readonly files: ReadonlyMap<string, ShownFile>;
  readonly reasoning: boolean;
}

/** One of ours can be several of theirs: results of tools are messages of their own, before anything that is said. */
function wireMessages({ settings: { model }, request: { system }, messages }: Question, leftOut: LeftOut): Written {
  const written: Wire[] = system.trim() === "" ? [] : [{ role: "system", content: system }];
  const files = new Map<object, ShownFile>();
  const turn = messages.findLastIndex(({ role, content }) => role === "user" && content.some((p) => p.type === "text"));
  let reasoning = false;
  for (const [i, message] of messages.entries()) {
    if (message.role === "user") written.push(...userMessages(message.content, leftOut, files));
    else {
      const thought = i < turn || leftOut.reasoning ? {} : thoughtOf(message.content, model);
      const wire = assistantMessage(message.content, thought);
      reasoning ||= wire !== null && Object.keys(thought).length > 0;
      if (wire !== null) written.push(wire);
    }
  }
  const taken = written.flatMap((message, i) => inParts(message, written.slice(i + 1)));
  return { messages: taken, files: placesOf(taken, files), reasoning };
}

/** OpenAI takes so many calls in one message: an answer with more becomes several, each with its results. */
function inParts(message: Wire, after: readonly Wire[]): Wire[] {
  if (message.role === "tool") return []; // it came with its calls
  if (message.role !== "assistant" || message.tool_calls === undefined) return [message];
  const { tool_calls: calls, content = null, ...rest } = message;
  const end = after.findIndex(({ role }) => role !== "tool");
  const results = new Map(
    after
      .slice(0, end < 0 ? after.length : end)
      .map((result) => [result.role === "tool" ? result.tool_call_id : "", result]),
  );
  const parts: Wire[] = [];
  for (let at = 0; at < calls.length; at += OPENAI_CALLS_PER_MESSAGE_MAX) {
    const some = calls.slice(at, at + OPENAI_CALLS_PER_MESSAGE_MAX);
    parts.push({ ...rest, content: at === 0 ? content : null, tool_calls: some });
    parts.push(...some.flatMap(({ id }) => results.get(id) ?? []));
  }
  return parts;
}

function placesOf(messages: readonly Wire[], files: ReadonlyMap<object, ShownFile>): Map<string, ShownFile> {
  const places = new Map<string, ShownFile>();
  for (const [i, { content }] of messages.entries())
    for (const [j, part] of Array.isArray(content) ? content.entries() : []) {
      const file = files.get(part);
      if (file !== undefined) places.set(`messages[${i}].content[${j}]`, file);
    }
  return places;
}

function assistantMessage(content: readonly AssistantPart[], thought: object): Wire | null {
  const text = content.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("");
  const calls = content.flatMap((p) =>
    p.type === "toolUse"
      ? [{ id: p.id, type: "function" as const, function: { name: p.name, arguments: canonical(p.args) } }]
      : [],
  );
  if (calls.length > 0)
    return { role: "assistant", content: text.trim() === "" ? null : text, tool_calls: calls, ...thought };
  return text.trim() === "" ? null : { role: "assistant", content: text };
}

/** Some servers want back, under the name that they gave it, what led to calls of the turn that goes on. */
function thoughtOf(content: readonly AssistantPart[], model: string): object {
  const notes = content.flatMap((part) => {
    const note = part.type === "opaque" ? readNote(part, model) : null;
    return note?.kind === "text" && note.text.isWellFormed() ? [note] : [];
  });
  const [first] = notes;
  return first === undefined ? {} : { [first.field]: notes.map(({ text }) => text).join("") };
}

function userMessages(
  parts: Extract<ReadyMessage, { role: "user" }>["content"],
  leftOut: LeftOut,
  files: Map<object, ShownFile>,
): Wire[] {
  const results: Wire[] = [];
  const said: (TextPart | ShownFile)[] = [];
  for (const part of parts) {
    if (part.type !== "toolResult") said.push(part);
    else {
      const content = part.text.trim() === "" ? emptyResult() : part.text;
      results.push({ role: "tool", tool_call_id: part.toolUseId, content });
      if (part.shown.length > 0) said.push({ type: "text", text: shownBy(part.toolUseId) }, ...part.shown);
    }
  }
  const shown = said.map((part) => {
    const reason = part.type === "file" ? leftOut.files.get(part) : undefined;
    return part.type === "file" && reason !== undefined ? inWords(part, reason) : part;
  });
  const content = shown.filter((part) => part.type === "file" || part.text.trim() !== "");
  if (content.length === 0) return results;
  if (content.every((part) => part.type === "text"))
    return [...results, { role: "user", content: content.map(({ text }) => text).join("\n\n") }];
  return [...results, { role: "user", content: content.map((part) => partOf(part, files)) }];
}

function partOf(part: TextPart | ShownFile, files: Map<object, ShownFile>): Part {
  if (part.type === "text") return { type: "text", text: part.text };
  const wire: Part =
    part.kind === "image"
      ? { type: "image_url", image_url: { url: dataUrl(part) } }
      : { type: "file", file: { filename: fileName(part), file_data: dataUrl(part) } };
  files.set(wire, part);
  return wire;
}
