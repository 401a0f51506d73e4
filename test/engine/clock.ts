// Time under a test's control: `sleep` as the engine gets it, which ends when the test says so, or when the signal aborts.
export interface Clock {
  readonly now: number;
  /** What was asked for, in order. */
  readonly slept: number[];
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets `ms` pass; whoever is due goes on before this resolves. */
  pass(ms: number): Promise<void>;
}

interface Sleeper {
  readonly at: number;
  wake(): void;
}

/** Lets everything that can go on without a timer go on. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The same clock, whose sleepers take some turns of the event loop to wake up. */
export const drowsy = (clock: Clock): Pick<Clock, "sleep"> => ({
  sleep: async (ms, signal) => {
    await clock.sleep(ms, signal);
    await settle();
    await settle();
  },
});

export function createClock(): Clock {
  let now = 0;
  let sleepers: Sleeper[] = [];
  const slept: number[] = [];
  return {
    get now() {
      return now;
    },
    slept,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        slept.push(ms);
        if (signal?.aborted) return resolve();
        const sleeper = { at: now + ms, wake: resolve };
        sleepers.push(sleeper);
        signal?.addEventListener("abort", () => {
          sleepers = sleepers.filter((s) => s !== sleeper);
          resolve();
        });
      }),
    pass: async (ms) => {
      const until = now + ms;
      await settle();
      for (;;) {
        const next = sleepers.filter((s) => s.at <= until).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        now = next.at;
        sleepers = sleepers.filter((s) => s !== next);
        next.wake();
        await settle();
      }
      now = until;
    },
  };
}
