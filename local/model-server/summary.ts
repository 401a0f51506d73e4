import { type ChatMessage, textOf } from "./chat.ts";

/** A request for a summary of the conversation before it, or of a part of one that it holds. */
const ASKS = /\b(?:from a summary that you write now|write one summary of everything up to here)\b/i;
const LEAD = "The user said, word for word:";

/** Null: no summary is asked for. Else what the user said, line by line, as a careful reader would keep it. */
export function summaryAsked(messages: readonly ChatMessage[], userText: string): string | null {
  if (!ASKS.test(userText)) return null;
  const before = userText.includes("<part>") ? [] : messages.filter((message) => message.role === "user").map(textOf);
  const held = /<part>\n([\s\S]*)\n<\/part>/.exec(userText)?.[1] ?? "";
  const kept = /<summary>\n([\s\S]*?)\n<\/summary>/.exec(userText)?.[1] ?? "";
  const lines = [kept, held, ...before.map((text) => text.split(/This conversation is getting too long/)[0] ?? "")]
    .flatMap((text) => text.split("\n"))
    .map((line) => line.replace(/^(?:- |User: )/, "").trim())
    .filter(
      (line) =>
        line !== "" && line !== LEAD && !line.startsWith("The earlier part of this conversation") && !ASKS.test(line),
    );
  return [LEAD, ...[...new Set(lines)].map((line) => `- ${line}`)].join("\n");
}
