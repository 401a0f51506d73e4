// What of a request a model turns out not to take, and what it can do without (ask-legally.ts). Bedrock says so before it bills anything.
import type { ShownFile } from "../media.ts";
import type { Asking, Plan } from "./request.ts";

const REFUSALS: readonly (readonly [
  words: RegExp,
  without: "stream" | "marks" | "reasoning" | "outputSchema" | "summary",
])[] = [
  [/support\w*\b.*\bstream|stream\w*\b.*\bsupport/i, "stream"],
  [/cache ?point|prompt caching/i, "marks"],
  [/reasoning ?content|thinking`? blocks?/i, "reasoning"],
  [/\bthinking\b|\bdisplay\b/i, "summary"],
  [/output_?config|text_?format|structured output|grammar|schema/i, "outputSchema"],
];

/**
 * The plan without what this refusal (the text of a ValidationException) speaks of; null: it speaks of something else. `last`: there is no further try, so
 * a refused file takes all others with it.
 */
export function concede(refusal: string, asking: Asking, plan: Plan, last: boolean): Plan | null {
  const found = REFUSALS.find(([words, without]) => plan[without] && words.test(refusal));
  if (found !== undefined) return { ...plan, [found[1]]: false };
  const refused = refusedFiles(refusal, asking);
  const files = last && refused.length > 0 ? asking.shown.values() : refused;
  return refused.length === 0 ? null : { ...plan, refused: new Set([...plan.refused, ...files]) };
}

/** In Bedrock's words and in those of the models behind it. */
const PLACE = /messages[./](\d+)[./]content[./](\d+)(?:[./](?:toolResult[./])?content[./](\d+))?/;
const ABOUT_FILES = /image|pdf|document|page/i;

/** The file that stands where the words say; all of them, where they only speak of some. */
function refusedFiles(words: string, { input, shown }: Asking): ShownFile[] {
  const [, message, block, within] = PLACE.exec(words) ?? [];
  const at = input.messages?.[Number(message)]?.content?.[Number(block)];
  const nested = at?.toolResult?.content ?? [];
  const named = [at, ...(within === undefined ? nested : [nested[Number(within)]])].flatMap((place) => {
    const file = place === undefined ? undefined : shown.get(place);
    return file === undefined ? [] : [file];
  });
  if (named.length > 0) return named;
  return ABOUT_FILES.test(words) ? [...shown.values()] : [];
}
