// The two pieces of Node that deterministic re-execution needs. Neither reads a clock nor waits for anything outside.
import { AsyncLocalStorage } from "node:async_hooks";
import { nextTick } from "node:process";

/** What the code of an agent's author runs for, with every continuation of it, from its first line on. */
const running = new AsyncLocalStorage<string>();

/** Runs code of an agent's author. `what` names it for people: `workflow of run …`. */
export const asAuthorsCode = <T>(what: string, run: () => T): T => running.run(what, run);

/**
 * Whose code this is: what `asAuthorsCode` was told, or null for ours. For the worker's guard (functions/rejections.ts): Node asks about an unhandled rejection in
 * the context that rejected. An author's own promise may reject before anybody awaits it (`const a = helper(ctx); await ctx.sleep(1); await a`).
 */
export const authorsCode = (): string | null => running.getStore() ?? null;

/**
 * Resolves when the microtask queue is empty: a tick that is asked for by a microtask. Not setImmediate: then timers and sockets of the author's could slip
 * into a window; with this, a whole replay is one macrotask.
 */
export const quiescence = (): Promise<void> => Promise.resolve().then(() => new Promise((done) => nextTick(done)));
