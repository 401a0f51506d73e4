// What a request that Anthropic refuses can do without (ask-legally.ts).
import type { Draft, LeftOut } from "./request.ts";

/** Null: nothing in the request explains the refusal. */
export function leaveOut(words: string, draft: Draft, leftOut: LeftOut): LeftOut | null {
  if (!leftOut.schema && draft.body.output_config?.format && /output_config|schema|grammar/i.test(words))
    return { ...leftOut, schema: true };
  if (!leftOut.budget && draft.body.thinking?.type === "enabled" && /must start with a thinking block/i.test(words))
    return { ...leftOut, budget: true };
  if (
    !leftOut.thinking &&
    hasThinking(draft) &&
    /thinking/i.test(words) &&
    /signature|bound to|modified|final block/i.test(words)
  )
    return { ...leftOut, thinking: true };
  return withoutFiles(words, draft, leftOut);
}

const hasThinking = ({ body }: Draft): boolean =>
  body.messages.some(
    ({ content }) =>
      Array.isArray(content) && content.some(({ type }) => type === "thinking" || type === "redacted_thinking"),
  );

/** The files that the words name by their place; all of them, where they only speak of some. */
function withoutFiles(words: string, draft: Draft, leftOut: LeftOut): LeftOut | null {
  const place = /messages\.\d+\.content\.\d+(\.content\.\d+)?/.exec(words)?.[0];
  const named = [...draft.files].filter(([at]) => at === place || at.startsWith(`${place}.`));
  const found =
    named.length > 0
      ? named
      : /image|pdf|document|page|request_too_large|too large/i.test(words)
        ? [...draft.files]
        : [];
  if (found.length === 0) return null;
  const reason = `the provider refused it: ${words}`;
  return { ...leftOut, files: new Map([...leftOut.files, ...found.map(([, file]) => [file, reason] as const)]) };
}
