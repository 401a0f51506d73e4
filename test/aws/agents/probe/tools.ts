import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "toren";
import * as z from "zod";

export const wait = defineTool({
  description: "Waits for so many seconds.",
  input: z.object({ seconds: z.number() }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: async ({ seconds }, ctx) => {
    await sleep(seconds * 1_000, undefined, { signal: ctx.signal });
    return `waited ${seconds} seconds`;
  },
});
