// Promises that reject while nobody looks. An author's are no reason to end a worker that has other people's runs in it; ours are bugs, and end it.
import { messageOf } from "../shared/core/errors.ts";
import { authorsCode } from "../shared/core/workflow/window.ts";
import type { Log } from "../shared/ports/log.ts";

let log: Log | null = null;
/** Who was asked before: Lambda's runtime ends the process for any rejection. */
let others: readonly NodeJS.UnhandledRejectionListener[] = [];

/**
 * From now on, until the process ends, an unhandled rejection in the code of an agent's author (workflow, tool, step) is logged, and its run goes on:
 * whoever awaits the promise later still gets the error. Any other ends the process as it would without this. Called again, it only logs elsewhere.
 */
export function guardRejections(to: Log): void {
  if (log === null) {
    others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", judge);
  }
  log = to;
}

function judge(reason: unknown, promise: Promise<unknown>): void {
  const where = authorsCode();
  if (where !== null) {
    log?.warn("a promise was rejected before anybody awaited it", { where, error: messageOf(reason) });
    return;
  }
  if (others.length === 0)
    throw reason instanceof Error ? reason : new Error(`unhandled rejection: ${messageOf(reason)}`);
  for (const other of others) other(reason, promise);
}
