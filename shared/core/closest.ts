// "Did you mean …?": the name nearest to a mistyped one.

/** The candidate that is likely meant: at most a third of its letters away. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const away = distance(word.toLowerCase(), candidate.toLowerCase());
    if (away < least && away <= Math.max(1, Math.floor(candidate.length / 3))) {
      best = candidate;
      least = away;
    }
  }
  return best;
}

/** A sentence to end an error with: the nearest of `known`, or all of them. */
export function closest(wrong: string, known: readonly string[]): string {
  if (known.length === 0) return "There are none.";
  const near = wrong === "" ? null : nearest(wrong, known);
  return near === null ? `Known: ${[...known].sort().join(", ")}.` : `Did you mean "${near}"?`;
}

/** `; did you mean "model"?` within a problem's line, or what there is instead. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates);
  if (near !== null) return `; did you mean "${near}"?`;
  return candidates.length === 0 ? "" : `; there is ${candidates.join(", ")}`;
}

/** Edits (insert, delete, replace, swap of neighbours) from one word to the other. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
