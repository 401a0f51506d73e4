import { MAX_PHRASE_CHARS } from "./limits.ts";

/** A word that carries meaning: its stem to compare by, its spelling to search by. */
export interface Term {
  readonly stem: string;
  readonly surface: string;
  /** Identifiers and capitals (`SKIP`, `wal_level`) say more about what is asked than plain words. */
  readonly weight: number;
}

const STOP_WORDS = new Set(
  `a about above after all also am an and any are as at be because been before being below between both but by can cannot
  could did do does doing done down during each either else etc every few for from further get gets give given had has have having
  he her here his how however i if in into is it its itself just let like make makes many may me might more most much must my
  no nor not of off on once one only or other our out over own per please same several other another shall she should since so some still such take takes taken thing things way happen happens
  than that the their them then there these they this those through to too under until up upon us use used uses using very was
  we were what when where whether which while who whom whose why will with within without would you your
  answer ask asked compare describe discuss explain find list mean means question say says show summarise summarize tell write`
    .split(/\s+/)
    .filter((word) => word.length > 0),
);

export function tokens(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word.toLowerCase()) || (word.length === 1 && !/\p{N}/u.test(word));
}

/** Light stemming: inflections of one word meet, nothing cleverer. */
export function stem(word: string): string {
  let s = word.toLowerCase();
  if (s.length <= 3 || s.includes("_")) return s;
  if (s.endsWith("ies")) s = `${s.slice(0, -3)}y`;
  else if (s.endsWith("s") && !/(?:ss|us|is)$/.test(s)) s = s.slice(0, -1);
  const bare = s.replace(/(?:(?<=...)ing|(?<=...)(?<!e)ed|(?<=..)ied)$/, "");
  if (bare !== s) s = bare.replace(/([^aeiouylsz])\1$/, "$1");
  return s.length > 4 ? s.replace(/e$/, "") : s;
}

/** The words that carry meaning, in order, with repetitions; the caller decides what a repetition is worth. */
export function stems(text: string): string[] {
  return tokens(text)
    .filter((word) => !isStopWord(word))
    .map(stem);
}

/** The distinct words that carry meaning, in the order of the text. */
export function keyTerms(text: string): Term[] {
  const seen = new Map<string, Term>();
  for (const surface of tokens(text)) {
    if (isStopWord(surface)) continue;
    const key = stem(surface);
    if (!seen.has(key)) seen.set(key, { stem: key, surface, weight: isCodeLike(surface) ? 2 : 1 });
  }
  return [...seen.values()];
}

function isCodeLike(word: string): boolean {
  return /^[\p{Lu}\p{N}]{2,}$/u.test(word) || /_|\p{Ll}\p{Lu}|\p{L}\p{N}/u.test(word);
}

/** What a text is about, in its own words: without a leading "please explain how", cut at a word. */
export function keyPhrase(text: string): string {
  const flat = text.replace(/\s+/g, " ").trim();
  const words = flat.split(" ");
  const first = words.findIndex((word) => tokens(word).some((token) => !isStopWord(token)));
  const phrase = words.slice(Math.max(first, 0)).join(" ");
  if (phrase.length <= MAX_PHRASE_CHARS) return phrase.replace(/[\s.,;:!?]+$/, "");
  const cut = phrase.slice(0, MAX_PHRASE_CHARS);
  return cut.slice(0, Math.max(cut.lastIndexOf(" "), 1)).replace(/[\s.,;:!?]+$/, "");
}
