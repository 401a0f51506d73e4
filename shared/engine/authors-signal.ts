// The signal that a tool's handler or a step is given.
import { asAuthorsCode } from "../core/workflow/window.ts";

/** Aborts with `signal`. What the author hung on it runs as the author's code, whoever aborts: a promise of theirs that rejects then is theirs. */
export function authorsSignal(what: string, signal: AbortSignal): AbortSignal {
  const own = new AbortController();
  const abort = (): void => asAuthorsCode(what, () => own.abort(signal.reason));
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return own.signal;
}
