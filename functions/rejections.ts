// Promises that reject while nobody looks, and errors that nobody can catch. An author's are no reason to end a worker that has other people's runs in it;
// ours are bugs, and end it.
import { inspect } from "node:util";
import { messageOf } from "../shared/core/errors.ts";
import { authorsCode, tellUncaught } from "../shared/core/workflow/window.ts";
import type { Log } from "../shared/ports/log.ts";

let log: Log | null = null;
/** Who was asked before: Lambda's runtime ends the process for any rejection. */
let others: readonly NodeJS.UnhandledRejectionListener[] = [];
let othersOfErrors: readonly NodeJS.UncaughtExceptionListener[] = [];

/**
 * From now on, until the process ends, an unhandled rejection in the code of an agent's author (workflow, tool, step) is logged, and its run goes on:
 * whoever awaits the promise later still gets the error. An uncaught error of theirs (thrown in a timer; an emitter's `error` without a listener) is logged
 * too, and fails the call or the step that it is of. Any other ends the process as it would without this. Who calls
 * `process.exit` there is named before the process ends. Called again, it only logs elsewhere.
 */
export function guardRejections(to: Log): void {
  if (log === null) {
    others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", judge);
    othersOfErrors = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", judgeError);
    process.on("exit", sayWhoEnds);
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

function judgeError(thrown: Error, origin: NodeJS.UncaughtExceptionOrigin): void {
  const where = authorsCode();
  if (where !== null) {
    log?.warn("an error was thrown where nobody can catch it", { where, error: messageOf(thrown) });
    tellUncaught(thrown);
    return;
  }
  for (const other of othersOfErrors) other(thrown, origin);
  if (othersOfErrors.length > 0) return;
  process.stderr.write(`${inspect(thrown)}\n`);
  process.exit(1); // thrown on from here, Node would end with 7
}

/** An agent's code that ends the process ends everybody's runs with it, and without a word if its exit code is 0. */
function sayWhoEnds(code: number): void {
  const where = authorsCode();
  if (where !== null) log?.error("process.exit was called by an agent's code: its worker ends", { where, code });
}
