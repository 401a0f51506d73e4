// Cache marks: what stands before one is read from the provider's cache the next time. After tools and system text, which never change within a role,
// and at the last two of the user's turns: this call reads what the last one wrote, and writes what the next one reads. Never part of a digest.
import type { SystemContentBlock, Tool, Message as WireMessage } from "@aws-sdk/client-bedrock-runtime";
import { BEDROCK_CACHE_MARKS_MAX } from "../../../core/limits.ts";
import type { Traits } from "./traits.ts";

const MARK = { cachePoint: { type: "default" as const } };
/** What tools and system text leave. */
const MARKED_TURNS = BEDROCK_CACHE_MARKS_MAX - 2;

type Places = Pick<Traits, "caches" | "cachesTools" | "cachesResults"> | null;

export const markTools = (tools: readonly Tool[], places: Places): Tool[] =>
  places?.cachesTools ? [...tools, MARK] : [...tools];

export const markSystem = (system: readonly SystemContentBlock[], places: Places): SystemContentBlock[] =>
  places?.caches ? [...system, MARK] : [...system];

/**
 * Only the user's turns: a mark after reasoning is refused, and only models end in that. A first question without tools may stay the only one: to write it
 * to the cache would cost more than to send it.
 */
export function markMessages(messages: readonly WireMessage[], tools: boolean, places: Places): WireMessage[] {
  if (!places?.caches || (!tools && messages.length === 1)) return [...messages];
  const marked = new Set(
    messages
      .filter(({ role, content = [] }) => {
        const results = content.some((block) => block.toolResult !== undefined);
        return role === "user" && (places.cachesResults || !results);
      })
      .slice(-MARKED_TURNS),
  );
  return messages.map((message) =>
    marked.has(message) ? { ...message, content: [...(message.content ?? []), MARK] } : message,
  );
}
