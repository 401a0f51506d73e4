// How full a model's context window is. What the provider counted in its last answer is the truth; what was appended since is estimated, high.
import type { Json } from "../json.ts";
import { jsonBytes, utf8Bytes } from "../json.ts";
import { BYTES_PER_TOKEN, MEDIA_TOKENS } from "../limits.ts";
import type { AssistantPart, Message, Usage, UserPart } from "../messages.ts";
import { totalTokens } from "../messages.ts";
import type { Header, History } from "./header.ts";

/** What was measured last: `tokens` are those of the request up to message `upTo`, and of the header. */
export interface Measured {
  tokens: number;
  upTo: number;
}

export const tokensOf = (text: string): number => Math.ceil(utf8Bytes(text) / BYTES_PER_TOKEN);

function tokensOfPart(part: UserPart | AssistantPart): number {
  if (part.type === "text") return tokensOf(part.text);
  if (part.type === "media") return MEDIA_TOKENS;
  if (part.type === "toolResult") return tokensOf(part.text) + MEDIA_TOKENS * (part.media?.length ?? 0);
  return Math.ceil(jsonBytes(part as unknown as Json) / BYTES_PER_TOKEN);
}

const tokensOfMessage = (message: Message): number => {
  let tokens = 0;
  for (const part of message.content) tokens += tokensOfPart(part);
  return tokens;
};

export const tokensOfMessages = (messages: readonly Message[], from = 0): number => {
  let tokens = 0;
  for (let i = from; i < messages.length; i++) tokens += tokensOfMessage(messages[i] as Message);
  return tokens;
};

const headers = new WeakMap<Header, number>();
/** System prompt and tools, estimated once. */
export function tokensOfHeader(header: Header): number {
  const known =
    headers.get(header) ??
    tokensOf(header.system) + Math.ceil(jsonBytes(header.tools as unknown as Json) / BYTES_PER_TOKEN);
  headers.set(header, known);
  return known;
}

/** Nothing was answered yet, or the conversation was rewritten: all of it is estimated. */
export const estimated = (header: Header): Measured => ({ tokens: tokensOfHeader(header), upTo: 0 });

/** After an answer: request and answer as the provider counted them. A server that counts nothing leaves the estimate as it is. */
export const measuredBy = (before: Measured, usage: Usage, history: History): Measured =>
  usage.input + usage.cacheRead + usage.cacheWrite === 0
    ? before
    : { tokens: totalTokens(usage), upTo: history.messages.length };

/** Tokens that the next request takes of the window. */
export const pressure = (measured: Measured, history: History): number =>
  measured.tokens + tokensOfMessages(history.messages, measured.upTo);
