import type { Candidate } from "./ranking.ts";
import { stems } from "./words.ts";

/** A quote that scores less than this share of the best one is left out: better a short answer than a wandering one. */
const RELEVANT_SHARE = 0.45;
/** Beyond this overlap of words two sentences say the same. */
const SAME_OVERLAP = 0.55;
/** What a sentence gains when it speaks of a part of the question that none before it does. */
const NEW_TERM_GAIN = 0.4;

/** Chooses from ranked candidates: relevant ones, no two alike, the question's parts covered first. */
export function select(ranked: readonly Candidate[], most: number): Candidate[] {
  const best = ranked[0]?.score ?? 0;
  const open = ranked.filter((candidate) => candidate.score >= best * RELEVANT_SHARE);
  const chosen: Candidate[] = [];
  const covered = new Set<string>();
  while (chosen.length < most) {
    const next = maximum(
      open.filter((candidate) => !chosen.some((other) => alike(candidate, other))),
      (candidate) => candidate.score * (1 + NEW_TERM_GAIN * newShare(candidate, covered)),
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

function newShare(candidate: Candidate, covered: ReadonlySet<string>): number {
  const fresh = [...candidate.covered].filter((term) => !covered.has(term)).length;
  return fresh / Math.max(candidate.covered.size, 1);
}

function alike(a: Candidate, b: Candidate): boolean {
  if (a.text === b.text) return true;
  const left = new Set(stems(a.text));
  const right = new Set(stems(b.text));
  const shared = [...left].filter((word) => right.has(word)).length;
  return shared / Math.max(Math.min(left.size, right.size), 1) > SAME_OVERLAP;
}

function maximum<T>(items: readonly T[], value: (item: T) => number): T | undefined {
  let best: T | undefined;
  for (const item of items) {
    if (best === undefined || value(item) > value(best)) best = item;
  }
  return best;
}
