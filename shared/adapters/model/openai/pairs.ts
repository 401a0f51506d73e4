// Calls without a result, and results without their call, are refused by both of OpenAI's interfaces. A refused answer leaves such: its calls never ran.
import type { Message } from "../../../core/messages.ts";

/** The conversation with calls and results in pairs: each call answered by the message after its own. */
export const paired = (messages: readonly Message[]): Message[] =>
  messages.map((message, i): Message => {
    if (message.role === "assistant") {
      const results = resultIds(messages[i + 1]);
      return { role: "assistant", content: message.content.filter((p) => p.type !== "toolUse" || results.has(p.id)) };
    }
    const uses = useIds(messages[i - 1]);
    return { role: "user", content: message.content.filter((p) => p.type !== "toolResult" || uses.has(p.toolUseId)) };
  });

const resultIds = (message: Message | undefined): ReadonlySet<string> =>
  new Set(
    message?.role === "user" ? message.content.flatMap((p) => (p.type === "toolResult" ? [p.toolUseId] : [])) : [],
  );

const useIds = (message: Message | undefined): ReadonlySet<string> =>
  new Set(message?.role === "assistant" ? message.content.flatMap((p) => (p.type === "toolUse" ? [p.id] : [])) : []);
