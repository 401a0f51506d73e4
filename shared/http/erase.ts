// Routes that forget runs.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { REQUEST_BODY_BYTES } from "../core/limits.ts";
import { durationMs } from "../core/time.ts";
import { actorOf } from "./access.ts";
import { readJson } from "./body.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { findRun } from "./runs.ts";

/** A run, for ever. */
export async function eraseRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const ref = await findRun(c, deps);
  const told = await deps.useCases.eraseRun(ref);
  if (told.type === "refused") throw new TorenError(told.error.code, told.error.message);
  await deps.audit.note({ ...actorOf(c), ...ref, action: "run.erased", subject: null });
  return c.json({ runId: ref.runId });
}

export const pruning = z.strictObject({
  agent: z.string().min(1).max(200),
  olderThan: z
    .string()
    .max(20)
    .refine((text) => durationMs(text) !== null, "must be a length of time, such as 12h or 30d")
    .meta({ description: "Runs that ended longer ago, such as `30d`." }),
  dryRun: z.boolean().default(false).meta({ description: "Only counts them, up to a bound." }),
});

const count = z.int().nonnegative();
export const pruned = z.object({ runs: count, events: count, more: z.boolean().meta({ description: "Ask again." }) });

/** A batch of an agent's old runs; `more`: ask again. */
export async function prune(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { agent, olderThan, dryRun } = await readJson(c.req.raw, REQUEST_BODY_BYTES, pruning);
  const known = await deps.overview.agents();
  if (!known.includes(agent)) throw new TorenError("agent.unknown", `There is no agent "${agent}" here.`);
  const forgotten = await deps.useCases.pruneRuns({ agent, olderThanMs: durationMs(olderThan) ?? Number.NaN, dryRun });
  if (forgotten.runs > 0 && !dryRun)
    await deps.audit.note({
      ...actorOf(c),
      agent,
      runId: null,
      action: "runs.pruned",
      subject: `${forgotten.runs} older than ${olderThan}`,
    });
  return c.json(forgotten);
}
