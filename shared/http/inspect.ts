// Routes for whoever looks closely at a run: a stream in outline, and a question to a model as it went out.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { OUTLINE_EVENTS } from "../core/limits.ts";
import { json } from "../core/messages.ts";
import { callJson } from "./call-json.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { readQuery } from "./query.ts";
import { findRun } from "./runs.ts";

export const outlineQuery = z.strictObject({
  stream: z.string().min(1).max(100).meta({ description: "`run`, or `task:<taskId>`." }),
  after: z.coerce.number().int().nonnegative().default(0).meta({ description: "The `next` of the page before." }),
});

export const outlinePage = z.object({
  events: z.array(
    z.object({
      seq: z.int().positive(),
      type: z.string(),
      recordedAt: z.string().meta({ format: "date-time" }),
      payload: z.record(z.string(), json).meta({
        description: "As in the log, but texts, arguments and results are cut to their beginning, in `said`.",
      }),
    }),
  ),
  next: z.int().nonnegative().meta({ description: "Pass it as `after` for what follows." }),
  more: z.boolean().meta({ description: "More is there already: ask at once." }),
});
export type OutlinePage = z.infer<typeof outlinePage>;

export async function runOutline(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { stream, after } = readQuery(c, outlineQuery);
  const ref = await findRun(c, deps);
  const events = await deps.inspection.outline({ ...ref, streamId: stream }, after, OUTLINE_EVENTS);
  const page: OutlinePage = {
    events: events.map(({ recordedAt, ...event }) => ({ ...event, recordedAt: new Date(recordedAt).toISOString() })),
    next: events.at(-1)?.seq ?? after,
    more: events.length === OUTLINE_EVENTS,
  };
  return c.json(page);
}

const callSeq = z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER);

export async function runCall(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const ref = await findRun(c, deps);
  const taskId = c.req.param("taskId") ?? "";
  const seq = callSeq.safeParse(c.req.param("seq"));
  if (!seq.success || taskId.length > 100 || taskId.includes("\u0000"))
    throw new TorenError("not_found", "A call is named by its task and the seq of its event LlmCallStarted.");
  const read = await deps.useCases.readCall({ ...ref, taskId, seq: seq.data });
  if (read.type === "refused") throw new TorenError(read.error.code, read.error.message);
  return c.json(callJson(read.call));
}
