// How often something took how long: counts by upper bounds, as Prometheus has them.

/** Seconds, of the histogram of appends: one waits for the disk, some milliseconds; above a second something is wrong. */
export const APPEND_BOUNDS_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

export interface Histogram {
  readonly bounds: readonly number[];
  /** One for each bound, and one more for what lies above all of them. Each holds what the others don't. */
  readonly counts: readonly number[];
  readonly sum: number;
}

export interface Measured extends Histogram {
  add(value: number): void;
}

/** `bounds` ascend; a value equal to one counts below it. */
export function createHistogram(bounds: readonly number[]): Measured {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    add: (value) => {
      const at = bounds.findIndex((bound) => value <= bound);
      counts[at < 0 ? bounds.length : at] = (counts[at < 0 ? bounds.length : at] ?? 0) + 1;
      sum += value;
    },
  };
}
