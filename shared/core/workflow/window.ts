// The two pieces of Node that deterministic re-execution needs. Neither reads a clock nor waits for anything outside.
import { AsyncLocalStorage } from "node:async_hooks";
import { nextTick } from "node:process";

interface AuthorsCode {
  readonly what: string;
  readonly uncaught: ((thrown: unknown) => void) | undefined;
}

/** What the code of an agent's author runs for, with every continuation of it, from its first line on. */
const running = new AsyncLocalStorage<AuthorsCode>();

/**
 * Runs code of an agent's author. `what` names it for people: `workflow of run …`. `uncaught` is told what a callback of it threw where nobody can catch it:
 * in a timer, or as an emitter's `error` that nobody listens for. The promise that waits for that callback most likely never settles.
 */
export const asAuthorsCode = <T>(what: string, run: () => T, uncaught?: (thrown: unknown) => void): T =>
  running.run({ what, uncaught }, run);

/**
 * Whose code this is: what `asAuthorsCode` was told, or null for ours. For the worker's guard (functions/rejections.ts): Node asks about an unhandled rejection and an
 * uncaught error in the context that they came from. An author's own promise may reject before anybody awaits it (`const a = helper(ctx); await ctx.sleep(1); await a`).
 */
export const authorsCode = (): string | null => running.getStore()?.what ?? null;

/** Tells whom `asAuthorsCode` named, in the same context. */
export const tellUncaught = (thrown: unknown): void => running.getStore()?.uncaught?.(thrown);

/**
 * Resolves when the microtask queue is empty: a tick that is asked for by a microtask. Not setImmediate: then timers and sockets of the author's could slip
 * into a window; with this, a whole replay is one macrotask.
 */
export const quiescence = (): Promise<void> => Promise.resolve().then(() => new Promise((done) => nextTick(done)));
