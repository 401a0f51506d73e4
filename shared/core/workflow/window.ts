// The two pieces of Node that deterministic re-execution needs. Neither reads a clock nor waits for anything outside.
import { AsyncLocalStorage } from "node:async_hooks";
import { nextTick } from "node:process";

/** Holds the run's code, and every continuation of it, from its first line on. */
export const inWorkflow = new AsyncLocalStorage<true>();

/**
 * For the worker's guard: `process.on("unhandledRejection", (e) => { if (!isWorkflowRejection()) throw e; })`. Node calls the handler in the context of
 * the promise. An author's own promise may reject before anybody awaits it (`const a = helper(ctx); await ctx.sleep(1); await a`): no reason to end the worker.
 */
export const isWorkflowRejection = (): boolean => inWorkflow.getStore() === true;

/**
 * Resolves when the microtask queue is empty: a tick that is asked for by a microtask. Not setImmediate: then timers and sockets of the author's could slip
 * into a window; with this, a whole replay is one macrotask.
 */
export const quiescence = (): Promise<void> => Promise.resolve().then(() => new Promise((done) => nextTick(done)));
