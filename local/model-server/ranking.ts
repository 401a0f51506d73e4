import { MAX_RANKED_SENTENCES_COUNT } from "./limits.ts";
import type { Passage } from "./passages.ts";
import { isQuotable, isSentence, leansOnContext, sentences } from "./sentences.ts";
import { keyTerms, stems, type Term } from "./words.ts";

/** A piece of one line that can be quoted, and how well it answers. `covered` are the question's terms that it holds. */
export interface Candidate extends Passage {
  readonly score: number;
  readonly covered: ReadonlySet<string>;
}

const K1 = 1.2;
const B = 0.6;
/** What the rest of its paragraph adds to a sentence: context, but less than the sentence's own words. */
const PARAGRAPH_SHARE = 0.3;
const PAIR_SHARE = 0.6;
const LEANING_FACTOR = 0.5;
const FRAGMENT_FACTOR = 0.3;
/** A sentence that names the subject early is about it. */
const EARLY_FACTOR = 1.15;
const EARLY_WORDS_COUNT = 5;
const LONG_FACTOR = 0.85;
const LONG_CHARS = 280;
/** How many of the best paragraphs lend how many of their own words to the question, and what those weigh. */
const FEEDBACK_PARAGRAPHS_COUNT = 8;
const FEEDBACK_TERMS_COUNT = 8;
const FEEDBACK_WEIGHT = 0.3;

/** Every quotable piece of the passages that shares a term with the question, best first; ties in reading order. */
export function rank(question: string, passages: readonly Passage[]): Candidate[] {
  const terms = keyTerms(question);
  const documents = passages.flatMap(pieces).slice(0, MAX_RANKED_SENTENCES_COUNT);
  const first = score(question, terms, documents);
  return score(question, [...terms, ...feedback(terms, first, passages)], documents)
    .filter((candidate) => candidate.covered.size > 0)
    .sort((a, b) => b.score - a.score);
}

function score(question: string, terms: readonly Term[], documents: readonly Piece[]): Candidate[] {
  const asked = keyTerms(question).map((term) => term.stem);
  const pairs = adjacentPairs(stems(question));
  const weigh = bm25(
    terms,
    documents.map((document) => document.words),
  );
  const weighAround = bm25(
    terms,
    documents.map((document) => document.around),
  );
  return documents.map(({ file, line, text, whole, words, around }) => {
    const covered = new Set(asked.filter((term) => words.includes(term)));
    const own = weigh(words) + PAIR_SHARE * pairScore(pairs, words, weigh) + PARAGRAPH_SHARE * weighAround(around);
    const coverage = asked.length === 0 ? 0 : covered.size / asked.length;
    const early = words.slice(0, EARLY_WORDS_COUNT).some((word) => covered.has(word)) ? EARLY_FACTOR : 1;
    const form = (whole ? 1 : FRAGMENT_FACTOR) * (leansOnContext(text) ? LEANING_FACTOR : 1);
    const length = text.length > LONG_CHARS ? LONG_FACTOR : 1;
    return { file, line, text, score: own * (0.5 + 0.5 * coverage) * early * form * length, covered };
  });
}

/** Words that the best paragraphs have in common and others have not: the documents' own words for what is asked. */
function feedback(terms: readonly Term[], scored: readonly Candidate[], passages: readonly Passage[]): Term[] {
  const best = scored
    .filter((candidate) => candidate.covered.size > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, FEEDBACK_PARAGRAPHS_COUNT);
  const known = new Set(terms.map((term) => term.stem));
  const everywhere = counts(passages.map((passage) => stems(passage.text)));
  return [...counts(best.map((candidate) => stems(candidate.text)))]
    .filter(([stem, count]) => count > 1 && !known.has(stem))
    .map(([stem, count]) => ({ stem, gain: count * Math.log(1 + passages.length / (everywhere.get(stem) ?? 1)) }))
    .sort((a, b) => b.gain - a.gain)
    .slice(0, FEEDBACK_TERMS_COUNT)
    .map(({ stem }) => ({ stem, surface: stem, weight: FEEDBACK_WEIGHT }));
}

function counts(texts: readonly (readonly string[])[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const words of texts) {
    for (const word of new Set(words)) found.set(word, (found.get(word) ?? 0) + 1);
  }
  return found;
}

interface Piece extends Passage {
  readonly whole: boolean;
  readonly words: readonly string[];
  readonly around: readonly string[];
}

function pieces({ file, line, text }: Passage): Piece[] {
  const quotable = sentences(text).filter(isQuotable);
  const whole = quotable.filter(isSentence);
  const around = stems(text);
  return (whole.length > 0 ? whole : quotable).map((sentence) => ({
    file,
    line,
    text: sentence,
    whole: whole.length > 0,
    words: stems(sentence),
    around,
  }));
}

function bm25(terms: readonly Term[], documents: readonly (readonly string[])[]): (words: readonly string[]) => number {
  const average = documents.reduce((sum, words) => sum + words.length, 0) / Math.max(documents.length, 1);
  const sets = documents.map((words) => new Set(words));
  const idf = new Map(
    terms.map((term) => {
      const n = sets.filter((set) => set.has(term.stem)).length;
      return [term.stem, term.weight * Math.log(1 + (documents.length - n + 0.5) / (n + 0.5))];
    }),
  );
  return (words) => {
    let sum = 0;
    for (const [stem, weight] of idf) {
      const count = words.reduce((n, word) => (word === stem ? n + 1 : n), 0);
      const length = 1 - B + B * (words.length / Math.max(average, 1));
      sum += (weight * count * (K1 + 1)) / (count + K1 * length);
    }
    return sum;
  };
}

type Pair = readonly [string, string];

function adjacentPairs(words: readonly string[]): Pair[] {
  return words.slice(1).map((word, i) => [words[i] ?? "", word] as const);
}

/** Two terms side by side in the question and in the sentence are a name (`SKIP LOCKED`), not a coincidence. */
function pairScore(
  pairs: readonly Pair[],
  words: readonly string[],
  weigh: (words: readonly string[]) => number,
): number {
  const present = new Set(adjacentPairs(words).map(([a, b]) => `${a} ${b}`));
  return pairs.filter(([a, b]) => present.has(`${a} ${b}`)).reduce((sum, pair) => sum + weigh(pair), 0);
}
