// What a model turns out not to take. Bedrock says so before it bills anything; the same question is then asked without it, at once, and so are later ones.
import type { Plan } from "./request.ts";

const REFUSALS: readonly (readonly [words: RegExp, without: keyof Plan])[] = [
  [/support\w*\b.*\bstream|stream\w*\b.*\bsupport/i, "stream"],
  [/cache ?point|prompt caching/i, "marks"],
  [/reasoning ?content|thinking`? blocks?/i, "reasoning"],
  [/output_?config|text_?format|structured output|grammar|schema/i, "outputSchema"],
];

/** The plan without what this refusal (the text of a ValidationException) speaks of; null: it speaks of something else. */
export function concede(plan: Plan, refusal: string): Plan | null {
  const found = REFUSALS.find(([words, without]) => plan[without] && words.test(refusal));
  return found === undefined ? null : { ...plan, [found[1]]: false };
}
