// Routes that copy a run: a fork of it, and its export.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { DECIDED_BY_MAX_CHARS, REQUEST_BODY_BYTES } from "../core/limits.ts";
import { actorOf, demand } from "./access.ts";
import { readJson } from "./body.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { readQuery } from "./query.ts";
import { findRun, idempotencyKeyOf } from "./runs.ts";

export const fork = z.strictObject({
  from: z.string().min(1).max(200).optional().meta({
    description:
      "Where the new run begins to differ: a wave (`w1`), a task (`w1t0`), a step of a task (`w1t0/s2`) or of the workflow (`step:NAME`), a child run (`run:PROCESS`). Left out: at the end; what failed is done again.",
  }),
  rerun: z.boolean().default(false).meta({
    description: "Effects that the source had may be had again, under new keys.",
  }),
  by: z.string().trim().min(1).max(DECIDED_BY_MAX_CHARS).optional().meta({
    description: "Who forks, as people read it. Default: the name of the API key.",
  }),
});

export const forkedOut = z.object({ runId: z.string(), agent: z.string(), forkedFrom: z.string() });

export async function forkRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, fork, {});
  const key = idempotencyKeyOf(c);
  if (body.rerun) demand(c.get("caller"), "approve", false); // as a cut that is made all the same
  const ref = await findRun(c, deps);
  const { from, rerun, by = actorOf(c).by } = body;
  const made = await deps.useCases.forkRun({
    ...ref,
    rerun,
    by,
    ...(from === undefined ? {} : { from }),
    ...(key === undefined ? {} : { idempotencyKey: key }),
  });
  if (made.type === "refused") throw new TorenError(made.error.code, made.error.message);
  if (made.type === "started")
    await deps.audit.note({
      ...actorOf(c),
      agent: ref.agent,
      runId: made.runId,
      action: "run.forked",
      subject: ref.runId,
    });
  const answer = { runId: made.runId, agent: ref.agent, forkedFrom: ref.runId };
  return c.json(answer, made.type === "started" ? 201 : 200, { location: `../${made.runId}` });
}

export const exportQuery = z.strictObject({
  after: z
    .string()
    .max(500)
    .default("")
    .meta({ description: "The `next` of the page before; left out: from the start." }),
});

/** A page of lines; the last one says where the next page begins. */
export async function exportRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { after } = readQuery(c, exportQuery);
  const ref = await findRun(c, deps);
  const { lines, next } = await deps.useCases.exportRun({ ...ref, after });
  const text = `${[...lines, JSON.stringify({ next })].join("\n")}\n`;
  return c.body(text, 200, { "content-type": "application/jsonl; charset=utf-8" });
}
