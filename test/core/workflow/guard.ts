// The worker's guard against rejections of an author's own promises, put before jest's own handlers for the length of a test file.
import { nextTick } from "node:process";
import { afterAll, beforeAll } from "@jest/globals";
import { authorsCode } from "../../../shared/core/workflow/window.ts";

/** Jest's `process` is a copy that hears nothing. Node's own functions belong to the realm of the real one: their constructor makes code that runs there. */
const realProcess = (): NodeJS.Process =>
  (nextTick.constructor as FunctionConstructor)("return process")() as NodeJS.Process;

/** Counts the rejections that only the guard saw. */
export function guardRejections(): { readonly swallowed: number } {
  const real = realProcess();
  const seen = { swallowed: 0 };
  let theirs: NodeJS.UnhandledRejectionListener[] = [];
  const guard: NodeJS.UnhandledRejectionListener = (reason, promise) => {
    if (authorsCode() !== null) seen.swallowed++;
    else for (const listener of theirs) listener(reason, promise);
  };
  beforeAll(() => {
    theirs = real.listeners("unhandledRejection");
    real.removeAllListeners("unhandledRejection");
    real.on("unhandledRejection", guard);
  });
  afterAll(() => {
    real.removeListener("unhandledRejection", guard);
    for (const listener of theirs) real.on("unhandledRejection", listener);
  });
  return seen;
}
