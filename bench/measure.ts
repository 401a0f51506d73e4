// What a figure is made of, and how numbers are made of times. The machine is never quiet: what is compared is interleaved, a middle value stands for many,
// and the spread of the ratio over parts of the same run is printed beside it.

/** The planner's knowledge of the tables: of today's, or of the empty ones that they once were. `none`: no table is asked. */
export type Statistics = "fresh" | "stale" | "none";

export interface Measure {
  /** The figure that it belongs to, and the name of its page in the table. */
  readonly figure: string;
  readonly what: string;
  readonly statistics: Statistics;
  readonly value: number;
  readonly unit: "ms" | "µs" | "/s" | "×" | "KiB" | "MB" | "bytes" | "ticks";
  /** What the design asks for; null: a bare cost, or what a ratio was made of. */
  readonly target: Target | null;
  /** Least and most of the same over parts of this run. */
  readonly spread: readonly [number, number] | null;
}

export type Target = { readonly atMost: number } | { readonly atLeast: number };

export const met = ({ value, target }: Measure): boolean | null => {
  if (target === null) return null;
  return "atMost" in target ? value <= target.atMost : value >= target.atLeast;
};

/** Makes the measures of one figure under one kind of statistics. */
export function measures(figure: string, statistics: Statistics) {
  return (
    what: string,
    value: number,
    unit: Measure["unit"],
    more: { readonly target?: Target; readonly spread?: readonly [number, number] } = {},
  ): Measure => ({ figure, what, statistics, value, unit, target: more.target ?? null, spread: more.spread ?? null });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The least value that so many of a hundred aren't above. */
export const percentile = (values: readonly number[], of: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil((values.length * of) / 100) - 1)] ?? Number.NaN;

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const spreadOf = (values: readonly number[]): [number, number] => [Math.min(...values), Math.max(...values)];

/** Milliseconds that the work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** A B A B …: what slows the machine down for a while slows both. One list of times per piece of work. */
export async function interleaved(times: number, works: readonly (() => Promise<unknown>)[]): Promise<number[][]> {
  const taken: number[][] = works.map(() => []);
  for (let i = 0; i < times; i++) for (const [w, work] of works.entries()) taken[w]?.push(await timed(work));
  return taken;
}

/** The ratio of two medians, and its spread over `parts` consecutive parts of the two lists. */
export function ratioOf(
  a: readonly number[],
  b: readonly number[],
  parts = 5,
): { value: number; spread: [number, number] } {
  const size = Math.max(1, Math.floor(Math.min(a.length, b.length) / parts));
  const ratios: number[] = [];
  for (let i = 0; i + size <= Math.min(a.length, b.length); i += size)
    ratios.push(median(a.slice(i, i + size)) / median(b.slice(i, i + size)));
  return { value: median(a) / median(b), spread: spreadOf(ratios) };
}
