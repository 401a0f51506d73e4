// "Did you mean": the name nearest to a mistyped one, in the sentence that errors end with.

/** A sentence that names the closest of `known`, or all of them. */
export function closest(wrong: string, known: readonly string[]): string {
  if (known.length === 0) return "There are none.";
  const near = known
    .map((name) => ({ name, far: distance(wrong.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.far - b.far)[0];
  if (near !== undefined && near.far <= Math.max(1, Math.floor(wrong.length / 3)))
    return `Did you mean "${near.name}"?`;
  return `Known: ${[...known].sort().join(", ")}.`;
}

/** Edits between two words (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(
        Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)),
      );
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
