// The function that consumes the queue `ticks`.
import { lambda } from "../lambda.ts";
import { createTickHandler } from "../tick.ts";
import { giveBack } from "../unready.ts";

/** Lambda says how much time is left; nobody asks a function to stop. */
const never = new AbortController().signal;

export const handler = lambda({
  name: "tick",
  leases: true,
  make: ({ engine }) => createTickHandler({ engine, stop: never }),
  unready: giveBack,
});
