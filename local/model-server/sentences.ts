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
    !text.includes(" | ") &&
    !/;$/.test(text)
  );
}

/** Sentences that lean on the one before read badly alone. */
export function leansOnContext(text: string): boolean {
  return /^(?:\(|(?:this|that|these|those|it|they|he|she|its|their|such|however|therefore|thus|hence|also|but|and|so|then|otherwise|instead|moreover|furthermore|similarly|conversely|in this|in that|in addition|in such|for example|for instance|in fact|again|the above|the latter|the former|another|(?:on|to) the other)\b)/i.test(
    text,
  );
}
