// Routes of what people tell a run: decisions about calls and cuts, messages of a conversation, signals, a nudge. Each is a fact; the first under its key wins.
import * as z from "zod";
import {
  COST_CAP_MAX_USD,
  DECIDED_BY_MAX_CHARS,
  DECISION_COMMENT_MAX_CHARS,
  REQUEST_BODY_BYTES,
  SIGNAL_NAME_MAX_CHARS,
} from "../core/limits.ts";
import { json } from "../core/messages.ts";
import { readJson } from "./body.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { answerTold, findRun, idempotencyKeyOf, noteTold } from "./runs.ts";

const by = z.string().trim().min(1).max(DECIDED_BY_MAX_CHARS).optional().meta({
  description: "Who decides, as people read it. Default: the name of the API key.",
});

export const approval = z.strictObject({
  granted: z.boolean(),
  call: z.string().min(1).max(200).optional().meta({
    description: "The waiting call's id, or its `key`, which names one request. May be left out when only one waits.",
  }),
  comment: z.string().max(DECISION_COMMENT_MAX_CHARS).default("").meta({
    description: "Kept in the log; the model reads it when the call is denied.",
  }),
  by,
});

export async function decideApproval(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, approval);
  const { granted, call, comment } = body;
  const ref = await findRun(c, deps);
  const decision = { ...ref, granted, comment, by: byOf(c, body), ...(call === undefined ? {} : { call }) };
  const told = await deps.useCases.decideApproval(decision);
  await noteTold(c, deps, ref, told, { action: granted ? "call.approved" : "call.denied", subject: call ?? null });
  return answerTold(c, ref.runId, told);
}

export const message = z.strictObject({
  text: z.string().default(""),
  close: z.boolean().default(false).meta({
    description: "The session ends with the answer to this message; without a text at once.",
  }),
  steer: z.boolean().default(false).meta({
    description: "Read at the next step of the turn under way, not at its end.",
  }),
});

export async function sendMessage(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, message);
  const key = idempotencyKeyOf(c);
  const ref = await findRun(c, deps);
  const said = { ...ref, ...body, ...(key === undefined ? {} : { idempotencyKey: key }) };
  return answerTold(c, ref.runId, await deps.useCases.sendMessage(said));
}

export const signal = z.strictObject({
  signal: z.string().min(1).max(SIGNAL_NAME_MAX_CHARS).meta({ description: "Its name, as the workflow waits for it." }),
  value: json.default(null).meta({ description: "What the workflow's `waitFor` answers with." }),
});

export async function sendSignal(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, signal);
  const key = idempotencyKeyOf(c);
  const ref = await findRun(c, deps);
  const sent = { ...ref, ...body, ...(key === undefined ? {} : { idempotencyKey: key }) };
  return answerTold(c, ref.runId, await deps.useCases.sendSignal(sent));
}

export const resumption = z.strictObject({
  decision: z.enum(["rerun", "keep"]).optional().meta({
    description: "About a cut that waits. `rerun`: cut, and repeat the calls; `keep`: go on from what is recorded.",
  }),
  by,
});

/** Without a decision: has somebody look at the run now. */
export async function resumeRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, resumption, {});
  const ref = await findRun(c, deps);
  const { decision } = body;
  const told =
    decision === undefined
      ? await deps.useCases.resumeRun(ref)
      : await deps.useCases.decideCut({ ...ref, decision, by: byOf(c, body) });
  if (decision !== undefined)
    await noteTold(c, deps, ref, told, { action: decision === "keep" ? "cut.kept" : "cut.rerun", subject: null });
  return answerTold(c, ref.runId, told);
}

export const retry = z.strictObject({
  by,
  limits: z
    .strictObject({
      maxCostUsd: z.number().positive().max(COST_CAP_MAX_USD).optional(),
      totalTokens: z.int().positive().optional(),
    })
    .default({})
    .meta({ description: "Raises what the run may use. Left out: as it was." }),
});

/** A failed run goes on; what is recorded isn't paid again. */
export async function retryRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, retry, {});
  const ref = await findRun(c, deps);
  const caps = { maxCostUsd: body.limits.maxCostUsd ?? null, totalTokens: body.limits.totalTokens ?? null };
  const told = await deps.useCases.retryRun({ ...ref, by: byOf(c, body), caps });
  await noteTold(c, deps, ref, told, { action: "run.retried", subject: null });
  return answerTold(c, ref.runId, told);
}

const byOf = (c: HttpContext, body: { readonly by?: string | undefined }): string => body.by ?? c.get("caller").name;
