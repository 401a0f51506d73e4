// The signal of one effect, out of the signal of the writer that outlives it. A task may take ten thousand steps under one writer, so an effect leaves
// nothing on its writer's signal: AbortSignal.any leaves an entry a call, and an AbortSignal.timeout that somebody listens to stays for its whole length.

export interface LinkedSignal {
  /** Aborts with any outer signal, until `unlink`; and by `abort`. */
  readonly signal: AbortSignal;
  /** The effect is to end now. Unlinks too. */
  abort(): void;
  /** The effect is over: whatever becomes of the outer signal concerns it no more. */
  unlink(): void;
}

// One for all: an error with a stack for every call that is over is what an append costs.
const OVER = new DOMException("What the signal was for is over.", "AbortError");

export function linkedTo(...outer: readonly AbortSignal[]): LinkedSignal {
  const own = new AbortController();
  const unlink = (): void => {
    for (const signal of outer) signal.removeEventListener("abort", abort);
  };
  const abort = (): void => {
    unlink();
    own.abort(outer.find((signal) => signal.aborted)?.reason ?? OVER);
  };
  if (outer.some((signal) => signal.aborted)) abort();
  else for (const signal of outer) signal.addEventListener("abort", abort, { once: true });
  return { signal: own.signal, abort, unlink };
}
