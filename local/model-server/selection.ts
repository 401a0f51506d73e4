import type { Candidate } from "./ranking.ts";
import { stems } from "./words.ts";

/** A quote that scores less than this share of the best one is left out: better a short answer than a wandering one. */
const RELEVANT_SHARE = 0.5;
/** Beyond this overlap of words two sentences say the same. */
const SAME_OVERLAP = 0.55;
/** What a sentence gains when it speaks of a part of the question that none before it does. */
const NEW_TERM_GAIN = 0.4;
/** A second document that says it is worth a little more than a second sentence of the first. */
const NEW_FILE_GAIN = 0.1;

/** Chooses from ranked candidates: relevant ones, no two alike, the question's parts covered first. */
export function select(ranked: readonly Candidate[], most: number): Candidate[] {
  const best = ranked[0]?.score ?? 0;
  const open = ranked.filter((candidate) => candidate.score >= best * RELEVANT_SHARE);
  const chosen: Candidate[] = [];
  const covered = new Set<string>();
  while (chosen.length < most) {
    const next = maximum(
      open.filter((candidate) => !chosen.some((other) => alike(candidate, other))),
      (candidate) => candidate.score * gain(candidate, chosen, covered),
    );
    if (next === undefined) break;
    chosen.push(next);
    for (const term of next.covered) covered.add(term);
  }
  return chosen;
}

/** The same choice in reading order: files by their best quote, lines upwards. */
export function inReadingOrder(chosen: readonly Candidate[]): Candidate[] {
  const files = [...new Set(chosen.map((candidate) => candidate.file))];
  return chosen.toSorted((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line);
}

function gain(candidate: Candidate, chosen: readonly Candidate[], covered: ReadonlySet<string>): number {
  const fresh = [...candidate.covered].filter((term) => !covered.has(term)).length;
  const isNewFile = chosen.every((other) => other.file !== candidate.file);
  return 1 + NEW_TERM_GAIN * (fresh / Math.max(candidate.covered.size, 1)) + (isNewFile ? NEW_FILE_GAIN : 0);
}

/** Words of the question are in every good candidate: two are alike by what else they say. */
function alike(a: Candidate, b: Candidate): boolean {
  if (a.text === b.text) return true;
  const left = otherWords(a);
  const right = otherWords(b);
  const shared = [...left].filter((word) => right.has(word)).length;
  return shared / Math.max(Math.min(left.size, right.size), 1) > SAME_OVERLAP;
}

function otherWords(candidate: Candidate): Set<string> {
  return new Set(stems(candidate.text).filter((word) => !candidate.covered.has(word)));
}

function maximum<T>(items: readonly T[], value: (item: T) => number): T | undefined {
  let best: T | undefined;
  for (const item of items) {
    if (best === undefined || value(item) > value(best)) best = item;
  }
  return best;
}
