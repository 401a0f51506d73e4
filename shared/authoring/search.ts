// Ranking lines of text against a query: BM25 with a short stop-word list and light stemming. Pure and deterministic: equal files and query, equal result.

/** A line, or a part of a very long one. */
export interface Passage {
  readonly file: string;
  /** Of a PDF, whose lines count from each page's start. */
  readonly page: number | null;
  readonly line: number;
  /** Of the whole line. */
  readonly lineChars: number;
  /** Where in the line the text begins. */
  readonly from: number;
  readonly text: string;
}

/** A passage that shares a word with the query. */
export interface Hit extends Passage {
  readonly score: number;
  /** Where in the text its first shared word stands. */
  readonly at: number;
}

export interface Query {
  /** Distinct stems, in the query's order. */
  readonly terms: readonly string[];
  /** Stems side by side in the query: a name like SKIP LOCKED is more than its words. */
  readonly pairs: ReadonlySet<string>;
}

const K1 = 1.2;
const B = 0.7;
const PAIR_SHARE = 0.5;
/** What a neighbouring line's own score adds: a hard-wrapped sentence answers over several lines. */
const NEIGHBOUR_SHARE = 0.2;
/** Headings and lines of code don't win by being short. */
const SHORTEST_WORDS = 8;

const STOP_WORDS = new Set(
  (
    "a an and any are as at be been but by can could did do does for from had has have how i if in into is it its may me more most no not of on or our " +
    "should so some such than that the their them then there these they this those to us was we were what when where which while who whom whose why " +
    "will with would you your"
  ).split(" "),
);

interface Word {
  readonly stem: string;
  readonly at: number;
  readonly stop: boolean;
}

/** Null: there is no word in it. A query of stop words alone is searched as it is. */
export function parseQuery(text: string): Query | null {
  const words = wordsOf(text);
  const telling = words.filter((word) => !word.stop);
  const stems = (telling.length > 0 ? telling : words).map((word) => word.stem);
  return stems.length === 0 ? null : { terms: [...new Set(stems)], pairs: new Set(pairsOf(stems)) };
}

interface Candidate {
  readonly passage: Passage;
  readonly at: number;
  readonly words: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly pairs: readonly string[];
}

/** Collects passages, keeping only those that share a word with the query, and ranks them at the end. */
export class Search {
  readonly #query: Query;
  /** Of a file, or of a page of one: lines that follow one another are neighbours. */
  readonly #parts = new Map<string, Candidate[]>();
  readonly #passagesWith = new Map<string, number>();
  #passages = 0;
  #words = 0;

  constructor(query: Query) {
    this.#query = query;
  }

  add(passage: Passage): void {
    const words = wordsOf(passage.text);
    if (words.length === 0) return;
    this.#passages++;
    this.#words += words.length;
    const counts = new Map<string, number>();
    for (const { stem } of words) if (this.#query.terms.includes(stem)) counts.set(stem, (counts.get(stem) ?? 0) + 1);
    if (counts.size === 0) return;
    for (const stem of counts.keys()) this.#passagesWith.set(stem, (this.#passagesWith.get(stem) ?? 0) + 1);
    const at = words.find(({ stem }) => counts.has(stem))?.at ?? 0;
    const stems = words.filter((word) => !word.stop).map((word) => word.stem);
    const pairs = [...new Set(pairsOf(stems))].filter((pair) => this.#query.pairs.has(pair));
    const part = JSON.stringify([passage.file, passage.page]);
    const candidates = this.#parts.get(part) ?? [];
    candidates.push({ passage, at, words: words.length, counts, pairs });
    this.#parts.set(part, candidates);
  }

  /** The best passages; equal scores in the order of file names, pages and lines. */
  best(limit: number): Hit[] {
    const hits = [...this.#parts.values()].flatMap((candidates) => this.#scored(candidates));
    hits.sort((a, b) => b.score - a.score || compare(a.file, b.file) || place(a, b));
    return hits.slice(0, limit);
  }

  #scored(candidates: readonly Candidate[]): Hit[] {
    const own = candidates.map((candidate) => this.#ownScore(candidate));
    const ofLine = new Map<number, number>();
    for (const [i, { passage }] of candidates.entries())
      ofLine.set(passage.line, Math.max(ofLine.get(passage.line) ?? 0, own[i] ?? 0));
    return candidates.map(({ passage, at }, i) => {
      const around = (ofLine.get(passage.line - 1) ?? 0) + (ofLine.get(passage.line + 1) ?? 0);
      return { ...passage, at, score: (own[i] ?? 0) + NEIGHBOUR_SHARE * around };
    });
  }

  #ownScore({ words, counts, pairs }: Candidate): number {
    const average = this.#words / Math.max(this.#passages, 1);
    const length = 1 - B + (B * Math.max(words, SHORTEST_WORDS)) / Math.max(average, SHORTEST_WORDS);
    let score = 0;
    for (const term of this.#query.terms) {
      const count = counts.get(term) ?? 0;
      score += (this.#weight(term) * count * (K1 + 1)) / (count + K1 * length);
    }
    for (const pair of pairs) for (const term of pair.split(" ")) score += (PAIR_SHARE * this.#weight(term)) / length;
    return score * (0.5 + (0.5 * counts.size) / this.#query.terms.length);
  }

  #weight(term: string): number {
    const having = this.#passagesWith.get(term) ?? 0;
    return Math.log(1 + (this.#passages - having + 0.5) / (having + 0.5));
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const place = (a: Passage, b: Passage): number => (a.page ?? 0) - (b.page ?? 0) || a.line - b.line || a.from - b.from;
const pairsOf = (stems: readonly string[]): string[] => stems.slice(1).map((stem, i) => `${stems[i]} ${stem}`);

/** Scripts without spaces between words are taken character by character. */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[[\p{L}\p{M}\p{N}_]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]]+/gv;

function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(WORD), (match) => {
    const word = match[0].normalize("NFKC").toLowerCase();
    return { stem: stemOf(word), at: match.index, stop: STOP_WORDS.has(word) };
  });
}

/** Inflections of one English word meet; identifiers, numbers and short words stay as they are. */
function stemOf(word: string): string {
  if (word.length < 4 || /[_\d]/.test(word)) return word;
  let stem = word;
  if (/[^aeiou]ies$/.test(stem)) stem = `${stem.slice(0, -3)}y`;
  else if (/(?:ss|sh|ch|x|z)es$/.test(stem)) stem = stem.slice(0, -2);
  else if (/[^su]s$/.test(stem) && !stem.endsWith("is")) stem = stem.slice(0, -1);
  const bare = stem.replace(/(?<=[aeiouy].*)(?:ing|ed)$/, "");
  if (bare !== stem && bare.length >= 3) stem = bare.replace(/([^aeiouls])\1$/, "$1");
  return stem.length > 4 && stem.endsWith("e") ? stem.slice(0, -1) : stem;
}
