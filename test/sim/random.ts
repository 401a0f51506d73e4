// A seeded source of chance (mulberry32): the same seed, the same run.

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, n). */
  int(n: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (n: number): number => Math.floor(next() * n);
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]) => from[int(from.length)] as T,
  };
}
