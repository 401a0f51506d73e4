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
const BIGRAM_SHARE = 0.6;
const LEANING_FACTOR = 0.7;
const FRAGMENT_FACTOR = 0.3;

/** Every quotable piece of the passages that shares a term with the question, best first; ties in reading order. */
export function rank(question: string, passages: readonly Passage[]): Candidate[] {
  const terms = keyTerms(question);
  const pairs = adjacentPairs(stems(question));
  const documents = passages
    .flatMap((passage) => pieces(passage))
    .slice(0, MAX_RANKED_SENTENCES_COUNT)
    .map((piece) => ({ ...piece, words: stems(piece.text), around: stems(piece.paragraph) }));
  const weigh = bm25(
    terms,
    documents.map((document) => document.words),
  );
  const weighAround = bm25(
    terms,
    documents.map((document) => document.around),
  );
  return documents
    .map(({ file, line, text, whole, words, around }) => {
      const covered = new Set(terms.filter((term) => words.includes(term.stem)).map((term) => term.stem));
      const own = weigh(words) + BIGRAM_SHARE * pairScore(pairs, words, weigh);
      const coverage = terms.length === 0 ? 0 : covered.size / terms.length;
      const form = (whole ? 1 : FRAGMENT_FACTOR) * (leansOnContext(text) ? LEANING_FACTOR : 1);
      const score = (own + PARAGRAPH_SHARE * weighAround(around)) * (0.5 + 0.5 * coverage) * form;
      return { file, line, text, score, covered };
    })
    .filter((candidate) => candidate.covered.size > 0)
    .sort((a, b) => b.score - a.score);
}

interface Piece extends Passage {
  readonly paragraph: string;
  readonly whole: boolean;
}

function pieces({ file, line, text }: Passage): Piece[] {
  const quotable = sentences(text).filter(isQuotable);
  const whole = quotable.filter(isSentence);
  const chosen = whole.length > 0 ? whole : quotable;
  return chosen.map((sentence) => ({ file, line, text: sentence, paragraph: text, whole: whole.length > 0 }));
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
