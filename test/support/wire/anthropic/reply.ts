// What a test has the model say, and the stream of events that it is sent as.
import { randomUUID } from "node:crypto";
import { type InputUsage, tokensOf } from "./cache.ts";
import type { Body } from "./shape.ts";
import { digest, prefixDigest, sign } from "./signature.ts";
import { traitsOf } from "./traits.ts";

export type ReplyBlock =
  | { readonly text: string }
  /** `json`: the arguments' text, where it isn't the JSON of `input`. */
  | { readonly tool: string; readonly input?: unknown; readonly json?: string; readonly id?: string }
  | { readonly thinking: string; readonly unsigned?: true }
  | { readonly redacted: string }
  /** A call of one of the provider's own tools; `found`: with its result. */
  | { readonly search: string; readonly found?: string; readonly id?: string }
  | { readonly answerTo: string; readonly found: string }
  /** Any block, as it is, in one piece. */
  | { readonly block: object };

export type StopReason =
  | "end_turn"
  | "max_tokens"
  | "tool_use"
  | "pause_turn"
  | "refusal"
  | "model_context_window_exceeded"
  | "stop_sequence";

/** A text alone is an answer that ends the turn. */
export type Reply =
  | string
  | {
      readonly content: readonly ReplyBlock[];
      /** Default: `tool_use` where there are calls, else `end_turn`. */
      readonly stop?: StopReason;
      readonly explanation?: string;
      /** Members of the usage object that are to be something else. */
      readonly usage?: object;
      readonly servedBy?: string;
    };

export interface SentEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface Streamed {
  readonly events: readonly SentEvent[];
  /** As it is billed. */
  readonly usage: { readonly output_tokens: number } & InputUsage;
  /** The last block, if the turn was paused after it. */
  readonly paused: object | null;
}

export function streamOf(body: Body, reply: Reply, input: InputUsage): Streamed {
  const {
    content,
    stop,
    explanation,
    usage: odd = {},
    servedBy = body.model,
  } = typeof reply === "string" ? { content: [{ text: reply }] } : reply;
  const blocks = content.flatMap((block) => blocksOf(block, body));
  const reason = stop ?? (content.some((block) => "tool" in block) ? "tool_use" : "end_turn");
  const thought = content.map((block) => ("thinking" in block ? block.thinking : "")).join("");
  const output = {
    output_tokens: Math.max(1, tokensOf(JSON.stringify(content))),
    output_tokens_details: { thinking_tokens: tokensOf(thought) },
  };
  const cache = {
    cache_creation: { ephemeral_5m_input_tokens: input.cache_creation_input_tokens, ephemeral_1h_input_tokens: 0 },
  };
  const message = {
    id: `msg_${randomUUID()}`,
    type: "message",
    role: "assistant",
    content: [],
    model: servedBy,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  };
  const details = reason === "refusal" ? { type: "refusal", category: null, explanation: explanation ?? null } : null;
  const events: SentEvent[] = [
    {
      type: "message_start",
      message: { ...message, usage: { ...input, ...cache, output_tokens: 1, service_tier: "standard", ...odd } },
    },
    { type: "ping" },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: reason, stop_sequence: null, stop_details: details },
      usage: { ...output, ...odd },
    },
    { type: "message_stop" },
  ];
  return {
    events,
    usage: { ...input, ...output, ...odd },
    paused: reason === "pause_turn" ? lastSaid(blocks) : null,
  };
}

const lastSaid = (blocks: readonly SentBlock[]): object | null =>
  blocks.findLast(
    ({ whole }) =>
      !("signature" in whole) && !("data" in whole) && !("text" in whole && String(whole.text).trim() === ""),
  )?.whole ?? null;

interface SentBlock {
  readonly start: object;
  readonly deltas: readonly object[];
  /** As it comes back. */
  readonly whole: object;
}

function blocksOf(block: ReplyBlock, body: Body): SentBlock[] {
  if ("text" in block) {
    const deltas = pieces(block.text).map((text) => ({ type: "text_delta", text }));
    return [{ start: { type: "text", text: "", citations: null }, deltas, whole: { type: "text", text: block.text } }];
  }
  if ("tool" in block) {
    const {
      tool: name,
      input = {},
      json = JSON.stringify(input),
      id = `toolu_${randomUUID().replaceAll("-", "")}`,
    } = block;
    const start = { type: "tool_use", id, name, input: {}, caller: { type: "direct" } };
    const deltas = ["", ...pieces(json === "{}" ? "" : json)].map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    }));
    return [{ start, deltas, whole: { type: "tool_use", id, name, input } }];
  }
  if ("thinking" in block) return [thinkingBlock(block, body)];
  if ("redacted" in block) {
    const data = sign(body.model, prefixDigest(body, body.messages), block.redacted);
    return [inOnePiece({ type: "redacted_thinking", data })];
  }
  if ("search" in block) return searchBlocks(block);
  if ("answerTo" in block) return [inOnePiece(searchResult(block.answerTo, block.found))];
  return [inOnePiece(block.block)];
}

const inOnePiece = (whole: object): SentBlock => ({ start: whole, deltas: [], whole });

function thinkingBlock(
  { thinking: said, unsigned }: { readonly thinking: string; readonly unsigned?: true },
  body: Body,
): SentBlock {
  const asked = body.thinking !== undefined && "display" in body.thinking ? body.thinking.display : undefined;
  const hidden = (asked ?? (traitsOf(body.model).version >= 4.7 ? "omitted" : "summarized")) === "omitted";
  const thinking = hidden ? "" : said;
  const signature = sign(body.model, prefixDigest(body, body.messages), thinking);
  const deltas = [
    ...pieces(thinking).map((text) => ({ type: "thinking_delta", thinking: text })),
    ...(unsigned ? [] : [{ type: "signature_delta", signature }]),
  ];
  return {
    start: { type: "thinking", thinking: "", signature: "" },
    deltas,
    whole: { type: "thinking", thinking, signature },
  };
}

const searchResult = (id: string, found: string): object => ({
  type: "web_search_tool_result",
  tool_use_id: id,
  content: [
    {
      type: "web_search_result",
      title: found,
      url: "https://example.com/",
      encrypted_content: digest(found),
      page_age: null,
    },
  ],
});

function searchBlocks({
  search,
  found,
  id = `srvtoolu_${randomUUID().replaceAll("-", "")}`,
}: {
  readonly search: string;
  readonly found?: string;
  readonly id?: string;
}): SentBlock[] {
  const input = { query: search };
  const call = {
    start: { type: "server_tool_use", id, name: "web_search", input: {} },
    deltas: pieces(JSON.stringify(input)).map((partial_json) => ({ type: "input_json_delta", partial_json })),
    whole: { type: "server_tool_use", id, name: "web_search", input },
  };
  return found === undefined ? [call] : [call, inOnePiece(searchResult(id, found))];
}

/** A stream cuts text anywhere, but never a character in two. */
function pieces(text: string): string[] {
  const size = Math.max(7, Math.ceil(text.length / 200));
  const found: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + size + (/[\ud800-\udbff]/.test(text[at + size - 1] ?? "") ? 1 : 0);
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}
