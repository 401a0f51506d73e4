// A conversation as Messages wants it: roles take turns, results come first, no text is blank, thinking goes back as it came or not at all.
import type Anthropic from "@anthropic-ai/sdk";
import type { Json } from "../../../core/json.ts";
import { DOCUMENT_TITLE_CHARS } from "../../../core/limits.ts";
import type { AssistantPart } from "../../../core/messages.ts";
import { emptyResult } from "../../../core/task/texts.ts";
import { inWords, type ReadyMessage, type ReadyToolResult, type ShownFile, type TextPart } from "../media.ts";
import { type Block, createConversation, serverToolId, type Turn } from "./conversation.ts";
import { fieldsOf, type OpaquePart, originOf, PROVIDER } from "./origin.ts";

export interface TurnsOptions {
  readonly model: string;
  /** Thinking whose beginning of the conversation changed is left out. */
  readonly bound: boolean;
  /** No thinking at all. */
  readonly withoutThinking: boolean;
  /** Files that are to be said in words, with the reason. */
  readonly refused: ReadonlyMap<ShownFile, string>;
  /** Digest of what comes before the first message. */
  readonly start: string;
}

export interface Turns {
  readonly turns: Turn[];
  /** Of everything that is sent: what an answer's thinking is bound to. */
  readonly prefix: string;
  /** Where the files stand, in the words of the provider's errors: `messages.0.content.1`. */
  readonly files: ReadonlyMap<string, ShownFile>;
}

export function turnsOf(messages: readonly ReadyMessage[], options: TurnsOptions): Turns {
  const writer = createWriter(options);
  const legal = serverTools(messages);
  for (const [i, message] of messages.entries()) {
    if (message.role === "user") {
      const uses = idsOf(messages[i - 1], "toolUse");
      for (const block of userBlocks(message.content, uses, writer)) writer.add("user", block);
    } else {
      const results = idsOf(messages[i + 1], "toolResult");
      for (const part of message.content)
        if (part.type !== "toolUse" || results.has(part.id)) writer.assistant(part, (id) => legal(id, i));
    }
  }
  return writer.end();
}

/** A call without its result, or the other way round, would be refused: of a refused answer, say, after which the conversation goes on. */
function idsOf(message: ReadyMessage | undefined, type: "toolUse" | "toolResult"): ReadonlySet<string> {
  const ids = (message?.content ?? []).flatMap((part) => {
    if (part.type !== type) return [];
    return part.type === "toolUse" ? [part.id] : part.type === "toolResult" ? [part.toolUseId] : [];
  });
  return new Set(ids);
}

function createWriter(options: TurnsOptions) {
  const conversation = createConversation(options.start);
  const { add, close, prefix } = conversation;
  const shown = new Map<object, ShownFile>();
  let thinkingFits = true; // of the answer that is being written

  const opaque = (part: OpaquePart, legalServerTool: (id: string) => boolean): void => {
    if (part.provider !== PROVIDER) return;
    const origin = originOf(part);
    if (origin !== null) {
      close();
      thinkingFits = origin.model === options.model && (!options.bound || origin.prefix === prefix());
      return;
    }
    const kept = isThinking(part.data)
      ? thinkingFits && !options.withoutThinking && isSigned(part.data)
      : isLegal(part.data, legalServerTool);
    if (kept) add("assistant", part.data as unknown as Block); // as it came
  };

  return {
    add,
    file: (file: ShownFile): Block => {
      const reason = options.refused.get(file);
      const block = reason === undefined ? fileBlock(file) : inWords(file, reason);
      if (reason === undefined) shown.set(block, file);
      return block;
    },
    assistant: (part: AssistantPart, legalServerTool: (id: string) => boolean): void => {
      if (part.type === "opaque") opaque(part, legalServerTool);
      else if (part.type === "toolUse")
        add("assistant", { type: "tool_use", id: part.id, name: part.name, input: inputOf(part.args) });
      else if (part.text.trim() !== "") add("assistant", { type: "text", text: part.text });
    },
    end: (): Turns => {
      close();
      const { turns } = conversation;
      return { turns, prefix: prefix(), files: placesOf(turns, shown) };
    },
  };
}

type Writer = ReturnType<typeof createWriter>;

/** Results first, whatever the order: a provider refuses a text before them. */
function userBlocks(
  parts: Extract<ReadyMessage, { role: "user" }>["content"],
  uses: ReadonlySet<string>,
  writer: Writer,
): Block[] {
  const results: Block[] = [];
  const others: Block[] = [];
  for (const part of parts) {
    if (part.type === "toolResult") {
      if (uses.has(part.toolUseId)) results.push(resultBlock(part, writer));
    } else if (part.type === "file") others.push(writer.file(part));
    else if (part.text.trim() !== "") others.push({ type: "text", text: part.text });
  }
  return [...results, ...others];
}

function resultBlock({ toolUseId, text, isError, shown }: ReadyToolResult, writer: Writer): Block {
  const files = shown.map((part: ShownFile | TextPart) => (part.type === "file" ? writer.file(part) : part));
  const words = text.trim() !== "" ? text : files.length === 0 ? emptyResult() : "";
  const onlyText = files.every((block) => block.type === "text"); // an error may hold nothing else
  const content = [...(words === "" ? [] : [{ type: "text" as const, text: words }]), ...files];
  return {
    type: "tool_result",
    tool_use_id: toolUseId,
    content: content as Exclude<Anthropic.ToolResultBlockParam["content"], string | undefined>,
    ...(isError && onlyText ? { is_error: true } : {}),
  };
}

function fileBlock({ kind, mediaType, name, content }: ShownFile): Block {
  const data = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
  if (kind === "image") {
    const media_type = mediaType as Anthropic.Base64ImageSource["media_type"];
    return { type: "image", source: { type: "base64", media_type, data } };
  }
  const title = name.slice(0, DOCUMENT_TITLE_CHARS).toWellFormed().trim();
  return {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data },
    ...(title === "" ? {} : { title }),
  };
}

const inputOf = (args: Json): Json => (typeof args === "object" && args !== null && !Array.isArray(args) ? args : {});

const isThinking = (data: Json): boolean => /^(redacted_)?thinking$/.test(String(fieldsOf(data).type));

/** Thinking that was cut before its signature came is nobody's. */
function isSigned(data: Json): boolean {
  const { type, signature, data: redacted } = fieldsOf(data);
  const proof = type === "thinking" ? signature : redacted;
  return typeof proof === "string" && proof !== "";
}

/** Blocks of the provider's own tools stand in pairs, so what is legal depends on the other one. Blocks of kinds that we don't know go back as they came. */
function isLegal(data: Json, legalServerTool: (id: string) => boolean): boolean {
  const id = serverToolId(data);
  return typeof fieldsOf(data).type === "string" && (id === null || legalServerTool(id));
}

/**
 * Whether a block of a server tool may stand in a message. A use without a result is one that the provider will go on with, which it does only at the
 * conversation's end, or when nothing but our own results follows; a result whose use was folded away answers nothing.
 */
function serverTools(messages: readonly ReadyMessage[]): (id: string, message: number) => boolean {
  const uses = new Set<string>();
  const results = new Set<string>();
  for (const { role, content } of messages)
    for (const part of content) {
      if (role !== "assistant" || part.type !== "opaque" || part.provider !== PROVIDER) continue;
      const id = serverToolId(part.data);
      if (id !== null) (typeof fieldsOf(part.data).tool_use_id === "string" ? results : uses).add(id);
    }
  const rest = (from: number): readonly ReadyMessage[] => messages.slice(from);
  const goesOn = (i: number): boolean => {
    const [next, ...later] = rest(i + 1);
    return next === undefined || (later.length === 0 && next.content.every((part) => part.type === "toolResult"));
  };
  return (id, message) => uses.has(id) && (results.has(id) || goesOn(message));
}

function placesOf(turns: readonly Turn[], shown: ReadonlyMap<object, ShownFile>): ReadonlyMap<string, ShownFile> {
  const places = new Map<string, ShownFile>();
  const note = (place: string, block: object): void => {
    const file = shown.get(block);
    if (file !== undefined) places.set(place, file);
  };
  for (const [i, turn] of turns.entries())
    for (const [j, block] of turn.content.entries()) {
      note(`messages.${i}.content.${j}`, block);
      if (block.type === "tool_result" && Array.isArray(block.content))
        for (const [k, inner] of block.content.entries()) note(`messages.${i}.content.${j}.content.${k}`, inner);
    }
  return places;
}
