// What a run can be found by: the words of its input, and its attributes. Cut into words here and not by Postgres, whose parser takes `A-1002` for a
// letter and a negative number, knows no words in Chinese, and differs with the database's locale.
import type { Json } from "./json.ts";
import { ATTRIBUTES_MAX, TERM_MAX_CHARS, TERMS_INPUT_CHARS, TERMS_MAX } from "./limits.ts";

/** Labels that whoever starts a run gives it, to find it by. */
export type Attributes = Readonly<Record<string, string>>;
export const NO_ATTRIBUTES: Attributes = {};

export const ATTRIBUTE_KEY = /^[a-zA-Z][a-zA-Z0-9_.-]{0,39}$/;

/** Scripts that put no space between words: each of their characters is a word. */
const WORD =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]]+/gv;

/** In the order in which they stand there, each once. */
export function wordsOf(text: string): string[] {
  const words = text.slice(0, TERMS_INPUT_CHARS).normalize("NFKC").toLowerCase().match(WORD) ?? [];
  return [...new Set(words.map((word) => word.slice(0, TERM_MAX_CHARS).toWellFormed()))].slice(0, TERMS_MAX);
}

/** No word begins so: words are letters and digits. */
const attributeTerm = (key: string, value: string): string => `@${key}=${value}`;

/** Everything that a run is found by. Of a large input its beginning. */
export function termsOf(input: Json, attributes: Attributes): string[] {
  const texts: string[] = [];
  collect(input, texts, TERMS_INPUT_CHARS);
  return [
    ...wordsOf(texts.join("\n")),
    ...Object.entries(attributes)
      .slice(0, ATTRIBUTES_MAX)
      .map(([key, value]) => attributeTerm(key, value)),
  ];
}

/** Texts and numbers; what a field is called isn't what a run is about. Returns how much is left of `room`. */
function collect(value: Json, texts: string[], room: number): number {
  if (room <= 0 || value === null || typeof value === "boolean") return room;
  if (typeof value !== "object") {
    const text = String(value).slice(0, room);
    texts.push(text);
    return room - text.length - 1;
  }
  let left = room;
  for (const part of Object.values(value)) left = collect(part, texts, left);
  return left;
}

/** As Postgres reads a query: every word, by its beginning, and every attribute, as a whole. Null: nothing is asked for. */
export function termsQuery(text: string, attributes: Attributes): string | null {
  const parts = [
    ...wordsOf(text).map((word) => `${quoted(word)}:*`),
    ...Object.entries(attributes).map(([key, value]) => quoted(attributeTerm(key, value))),
  ];
  return parts.length === 0 ? null : parts.join(" & ");
}

const quoted = (term: string): string => `'${term.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
