// The turns of a request as they come to stand, with a digest of them. What the model gets is what is digested, its ends included: an answer's thinking is
// bound to it (origin.ts).
import type Anthropic from "@anthropic-ai/sdk";
import type { Json } from "../../../core/json.ts";
import { fieldsOf, linked } from "./origin.ts";

export type Block = Anthropic.ContentBlockParam;
export interface Turn {
  readonly role: "user" | "assistant";
  readonly content: Block[];
}

export interface Conversation {
  readonly turns: Turn[];
  add(role: Turn["role"], block: Block): void;
  /**
   * Ends it as a request must end: at the end, and where an answer with thinking begins, since that was written after a request that ended so. Thus what the
   * model was told after a pause stays where it stood.
   */
  close(): void;
  /** Digest of all that stands. */
  prefix(): string;
}

/** The user's turn after a model's last one: newer models don't continue words, only what their own tools were about. */
const GO_ON = "Go on.";

/** `start`: digest of what comes before the first message. */
export function createConversation(start: string): Conversation {
  const turns: Turn[] = [];
  const links: string[] = []; // one for each block that stands

  const prefix = (): string => links.at(-1) ?? start;

  const add = (role: Turn["role"], block: Block): void => {
    if (role === "user") dropFinalThinking();
    links.push(linked(prefix(), [role, block]));
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(block);
    else turns.push({ role, content: [block] });
  };

  const takeBack = (): void => {
    turns.at(-1)?.content.pop();
    links.pop();
    if (turns.at(-1)?.content.length === 0) turns.pop();
  };

  /** No turn of the assistant ends with thinking; a turn that is empty then is left out, and its neighbours are one. */
  const dropFinalThinking = (): void => {
    while (turns.at(-1)?.role === "assistant" && isThinkingBlock(turns.at(-1)?.content.at(-1))) takeBack();
  };

  const close = (): void => {
    dropFinalThinking();
    const last = turns.at(-1);
    if (last?.role !== "assistant" || last.content.some(({ type }) => type === "tool_use")) return; // results come next
    const ownWords = last.content.every((block) => serverToolId(block as unknown as Json) === null);
    const final = last.content.at(-1);
    if (final?.type === "text") {
      takeBack();
      add("assistant", { ...final, text: final.text.trimEnd() }); // the conversation doesn't end with blanks
    }
    if (ownWords) add("user", { type: "text", text: GO_ON });
  };

  return { turns, add, close, prefix };
}

export const isThinkingBlock = (block: Block | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";

/** Of a use of a server tool, or of a result of one; null: neither. */
export function serverToolId(data: Json): string | null {
  const { type, id, tool_use_id: of } = fieldsOf(data);
  if (typeof of === "string") return of;
  return typeof id === "string" && String(type).endsWith("_tool_use") ? id : null;
}
