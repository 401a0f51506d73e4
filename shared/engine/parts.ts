// Work of several parts of which none may keep another from being done.

export interface Parts {
  /** What the part came to; null: it failed. */
  done<T>(work: () => Promise<T>): Promise<T | null>;
  /** @throws what the first part that failed threw. */
  check(): void;
}

export function createParts(): Parts {
  const failures: unknown[] = [];
  return {
    done: async (work) => {
      try {
        return await work();
      } catch (e) {
        failures.push(e);
        return null;
      }
    },
    check: () => {
      if (failures.length > 0) throw failures[0];
    },
  };
}
