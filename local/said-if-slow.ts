// What takes long says what it is: whoever waits before a silent terminal thinks that it hangs.
import { START_QUIET_MS } from "../shared/core/limits.ts";

/** Says `what` once, if `work` isn't done within START_QUIET_MS. */
export async function saidIfSlow<T>(
  what: string,
  say: ((text: string) => void) | undefined,
  work: Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => say?.(what), START_QUIET_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
