import { isStopWord, keyPhrase, keyTerms, tokens } from "./words.ts";

const ASKING = "how|what|why|which|who|whether";
const AUXILIARY = "is|are|was|were|do|does|did|can|could|may|might|must|should|will|would|has|have";
const CLAUSE = new RegExp(
  [
    `,?\\s+(?:and|or|but|as well as)\\s+(?=(?:${ASKING}|when|where|${AUXILIARY})\\b)`,
    `,\\s*(?=(?:${ASKING})\\b)`,
    `,\\s*(?=(?:when|where)\\s+(?:${AUXILIARY})\\b)`,
  ].join("|"),
  "i",
);

/**
 * The distinct things that a text asks, in its own words and order, at most `most`: its sentences, split where a new
 * question begins; else the items of its list; else the whole. What exceeds `most` stays together in the last.
 */
export function facets(text: string, most: number): string[] {
  const clauses = text
    .replace(/\s+/g, " ")
    .trim()
    .split(/(?<=[.?!;])\s+/)
    .flatMap((sentence) => sentence.split(CLAUSE))
    .map(bare)
    .filter((clause) => keyTerms(clause).length > 0);
  const parts = clauses.length === 1 ? listItems(clauses[0] ?? "") : clauses;
  const standing = parts.map((part, i) => withSubject(part, parts[i - 1]));
  const kept = standing.slice(0, Math.max(most, 1) - 1);
  const rest = standing.slice(kept.length).join("; ");
  return [...kept, rest].filter((part) => part.length > 0).map(capitalised);
}

/** `Compare A, B and C` holds three; two joined by "and" may be one thing, so they stay together. */
function listItems(clause: string): string[] {
  const items = clause
    .split(/,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+(?=[^,]*$)/)
    .map(bare)
    .filter((item) => item.length > 0);
  const isList = items.length >= 3 && items.every((item) => item.split(" ").length <= 6 && keyTerms(item).length > 0);
  return isList ? items.map((item, i) => (i === 0 ? withoutLead(item) : item)) : [clause];
}

/** A clause that only says "it" is given the subject of the one before, since a topic has to stand alone. */
function withSubject(part: string, before: string | undefined): string {
  const refers = tokens(part).some((word) => /^(?:it|its|they|them|their|this|these|those)$/i.test(word));
  return before !== undefined && refers && keyTerms(part).length <= 3 ? `${part} (${keyPhrase(before)})` : part;
}

function withoutLead(item: string): string {
  const words = item.split(" ");
  const first = words.findIndex((word) => tokens(word).some((token) => !isStopWord(token)));
  return words.slice(Math.max(first, 0)).join(" ");
}

function bare(text: string): string {
  return text.replace(/^[\s,;:]+|[\s.,;:?!]+$/g, "");
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
