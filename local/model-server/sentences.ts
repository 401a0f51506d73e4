import { MAX_SENTENCE_CHARS, MIN_SENTENCE_CHARS } from "./limits.ts";

const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|vs|cf|etc|approx|fig|no|dr|mr|mrs)\.\s*$/i;
const BOUNDARY = /[.!?]["”’)\]]*\s+(?=["“‘([`]?(?:\p{Lu}|\p{N}|[a-z]+_))/gu;

/** The sentences of a line, each an exact slice of it. A list marker in front belongs to none. */
export function sentences(line: string): string[] {
  const marker = /^\s*(?:(?:[-*•>#]+|\d+[.)])\s+)?/.exec(line)?.[0].length ?? 0;
  const found: string[] = [];
  let start = marker;
  for (const match of line.slice(marker).matchAll(BOUNDARY)) {
    const end = marker + match.index + match[0].length;
    if (ABBREVIATION.test(line.slice(start, end))) continue;
    found.push(line.slice(start, end).trim());
    start = end;
  }
  found.push(line.slice(start).trim());
  return found.filter((sentence) => sentence.length > 0);
}

/** A text that stands inside `"…"` without ending it early, and that no tool has shortened. */
export function isQuotable(text: string): boolean {
  return !/["\n\r]|…|\.\.\.$/.test(text) && text.length <= MAX_SENTENCE_CHARS;
}

/** A whole sentence of prose: no heading, table row, code, or lead-in to a list. */
export function isSentence(text: string): boolean {
  return (
    text.length >= MIN_SENTENCE_CHARS &&
    /^["“‘(]?[\p{Lu}\p{N}`]|^[a-z]+_/u.test(text) &&
    /[.!?][”’)\]]*$/.test(text) &&
    !text.includes(" | ")
  );
}

const LEANING_STARTS = [
  "this|that|these|those|it|they|he|she|its|their|such|another|again|also|but|and|so|then|thus|hence",
  "however|therefore|otherwise|instead|moreover|furthermore|similarly|conversely|alternatively",
  "in (?:this|that|such|fact|addition|other words)|for (?:example|instance|this)|as (?:an example|described|mentioned)",
  "the (?:above|following|latter|former|first|second|third|next|other)|on (?:one|the other) hand",
  "[\\w-]+, (?:it|this|that|these|they)",
];
const LEANING = new RegExp(`^(?:\\(|(?:${LEANING_STARTS.join("|")})\\b)`, "i");

/** Sentences that lean on the one before, or questions that the next one answers, read badly alone. */
export function leansOnContext(text: string): boolean {
  return LEANING.test(text) || text.endsWith("?");
}
