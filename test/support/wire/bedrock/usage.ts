// What a call is billed for, and the cache behind it: what stands before a mark is kept, for each model, and read by later requests that begin with the same.
// A token for four characters.
import { createHash } from "node:crypto";
import { type Answer, type TokenUsage, writtenBy } from "./answer.ts";
import { type Asked, blocksInOrder } from "./asked.ts";

const CHARS_PER_TOKEN = 4;
const tokens = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);

export function createUsage(): (asked: Asked, answer: Answer) => TokenUsage {
  const kept = new Set<string>();
  return (asked, answer) => {
    const chain = createHash("sha256").update(asked.modelId);
    let chars = 0;
    let read = 0; // up to the last mark that was known
    let marked = 0; // up to the last mark
    for (const block of blocksInOrder(asked)) {
      if ("cachePoint" in block) {
        const prefix = chain.copy().digest("hex");
        if (kept.has(prefix)) read = chars;
        kept.add(prefix);
        marked = chars;
        continue;
      }
      const text = JSON.stringify(block);
      chain.update(text);
      chars += text.length;
    }
    const inputTokens = tokens(chars - Math.max(marked, read));
    const cacheReadInputTokens = tokens(read);
    const cacheWriteInputTokens = tokens(Math.max(0, marked - read));
    const outputTokens = tokens(writtenBy(answer).length);
    const totalTokens = inputTokens + cacheReadInputTokens + cacheWriteInputTokens + outputTokens;
    return { inputTokens, cacheReadInputTokens, cacheWriteInputTokens, outputTokens, totalTokens };
  };
}
