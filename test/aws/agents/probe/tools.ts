import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

export const order = defineTool({
  description:
    "Orders something that takes so many seconds, and waits for it. Begun again, the same call waits for the rest.",
  input: z.object({ seconds: z.number() }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: async ({ seconds }, ctx) => {
    const note = join(tmpdir(), `toren-order-${ctx.idempotencyKey.replaceAll(/\W/g, "-")}`);
    await writeFile(note, String(Date.now()), { flag: "wx" }).catch(() => {});
    const since = Number(await readFile(note, "utf8"));
    await sleep(Math.max(0, since + seconds * 1_000 - Date.now()), undefined, { signal: ctx.signal });
    await rm(note, { force: true });
    return `came after ${seconds} seconds`;
  },
});
