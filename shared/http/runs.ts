// Routes of runs: start, list, read, follow, cancel. What people tell a run is in speak.ts.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { type Json, NotJson, toJson } from "../core/json.ts";
import {
  CANCEL_REASON_MAX_CHARS,
  COST_CAP_MAX_USD,
  ERROR_PATH_CHARS,
  EVENTS_WAIT_MAX_MS,
  REQUEST_BODY_BYTES,
  RUN_FILES_MAX,
  RUNS_PAGE,
  RUNS_PAGE_MAX,
  TURNS_PAGE,
  TURNS_PAGE_MAX,
} from "../core/limits.ts";
import { json } from "../core/messages.ts";
import type { Told } from "../engine/cancel-run.ts";
import { check, readJson } from "./body.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { readPage } from "./events-page.ts";
import { BadRequest } from "./problems.ts";
import { RUN_STATUSES, runJson, summaryJson, turnsJson } from "./run-json.ts";

const name = z.string().min(1).max(200);

export const newRun = z.strictObject({
  agent: name,
  process: name.optional(),
  input: json,
  files: z.array(z.string().min(1).max(200)).max(RUN_FILES_MAX).default([]),
  limits: z
    .strictObject({
      maxCostUsd: z.number().positive().max(COST_CAP_MAX_USD).optional(),
      totalTokens: z.int().positive().optional(),
    })
    .default({})
    .meta({ description: "What the run may use; where its agent has a limit of its own, the lower one holds." }),
});

/** RFC draft idempotency-key: printable ASCII, so that it survives every proxy. */
const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,200}$/, "1 to 200 printable ASCII characters without spaces");

export async function createRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, newRun);
  const key = idempotencyKeyOf(c);
  const traceparent = c.req.header("traceparent"); // one that can't be read is left out, as W3C asks
  const started = await deps.useCases.startRun({
    agent: body.agent,
    ...(body.process === undefined ? {} : { process: body.process }),
    input: recordable(body.input),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    files: body.files,
    budget: { maxCostUsd: body.limits.maxCostUsd ?? null, totalTokens: body.limits.totalTokens ?? null },
    ...(traceparent === undefined ? {} : { traceparent }),
  });
  if (started.type === "refused") throw new TorenError(started.error.code, started.error.message);
  // Relative to this route, so that a stage path before it stays.
  const location = { location: `runs/${started.runId}` };
  return c.json({ runId: started.runId, agent: body.agent }, started.type === "started" ? 201 : 200, location);
}

export function idempotencyKeyOf(c: HttpContext): string | undefined {
  const header = c.req.header("idempotency-key");
  return header === undefined ? undefined : check(header, idempotencyKey, "A header is wrong", "Idempotency-Key");
}

/** The form that is recorded: keys sorted, `-0` as 0. */
function recordable(input: Json): Json {
  try {
    return toJson(input);
  } catch (e) {
    if (!(e instanceof NotJson)) throw e;
    const path = `$.input${e.path.slice(1, ERROR_PATH_CHARS)}`.toWellFormed();
    throw new BadRequest(`The input can't be recorded: ${e.message}.`, [{ path, message: e.message }]);
  }
}

export const listQuery = z.strictObject({
  agent: name.optional(),
  status: z.enum(RUN_STATUSES).optional(),
  cursor: z.string().min(1).max(500).optional(),
  limit: z.coerce.number().int().min(1).max(RUNS_PAGE_MAX).default(RUNS_PAGE),
});

export async function listRuns(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const query = check(c.req.query(), listQuery, "A parameter is wrong", "");
  const page = await deps.store.runs.list({
    limit: query.limit,
    ...(query.agent === undefined ? {} : { agent: query.agent }),
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(query.cursor === undefined ? {} : { before: query.cursor }),
  });
  return c.json({ runs: page.runs.map(summaryJson), next: page.next });
}

export async function getRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const ref = await findRun(c, deps);
  const view = await deps.useCases.readRun(ref);
  if (view === null) throw unknownRun(ref.runId);
  return c.json(runJson(view));
}

export const turnsQuery = z.strictObject({
  before: z.coerce.number().int().nonnegative().optional(),
  limit: z.coerce.number().int().min(1).max(TURNS_PAGE_MAX).default(TURNS_PAGE),
});

export async function runTurns(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { before = null, limit } = check(c.req.query(), turnsQuery, "A parameter is wrong", "");
  const read = await deps.useCases.readTurns({ ...(await findRun(c, deps)), before, limit });
  if (read.type === "refused") throw new TorenError(read.error.code, read.error.message);
  return c.json(turnsJson(read.page));
}

const flag = z
  .enum(["", "1", "true", "0", "false"])
  .transform((text) => text === "" || text === "1" || text === "true");
export const eventsQuery = z.strictObject({
  stream: z.string().min(1).max(100).optional(),
  after: z.string().default(""),
  /** Seconds. */
  wait: z.coerce
    .number()
    .min(0)
    .max(EVENTS_WAIT_MAX_MS / 1_000)
    .default(0),
  full: flag.default(false),
});

export async function runEvents(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const query = check(c.req.query(), eventsQuery, "A parameter is wrong", "");
  const ref = await findRun(c, deps);
  const stream = query.stream ?? null;
  const page = await readPage(
    deps,
    { ...ref, stream, after: query.after, full: query.full, waitMs: query.wait * 1_000 },
    deps.closing === undefined ? c.req.raw.signal : AbortSignal.any([c.req.raw.signal, deps.closing]),
  );
  if (page !== null) return c.json(page);
  if (stream === null) throw unknownRun(ref.runId);
  throw new TorenError(
    "not_found",
    `Run ${ref.runId} has no stream "${stream}". Streams are "run" and "task:<taskId>".`,
  );
}

export const cancellation = z.strictObject({ reason: z.string().min(1).max(CANCEL_REASON_MAX_CHARS).optional() });

export async function cancelRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { reason = "cancelled by a client" } = await readJson(c.req.raw, REQUEST_BODY_BYTES, cancellation, {});
  const ref = await findRun(c, deps);
  return answerTold(c, ref.runId, await deps.useCases.cancelRun({ ...ref, reason }));
}

/** 202: the run's own writer acts on it, soon. */
export function answerTold(c: HttpContext, runId: string, told: Told): Response {
  if (told.type === "refused") throw new TorenError(told.error.code, told.error.message);
  return c.json({ runId }, 202);
}

const unknownRun = (runId: string): TorenError =>
  new TorenError("run.unknown", `There is no run "${runId}" here. GET runs lists them.`);

export async function findRun(c: HttpContext, deps: HttpDeps): Promise<{ agent: string; runId: string }> {
  const runId = c.req.param("runId");
  // Ids are UUIDs; what isn't one is no run's, and never reaches the database.
  if (runId === undefined || !z.guid().safeParse(runId).success) throw unknownRun(runId ?? "");
  const agent = await deps.store.runs.agentOf(runId);
  if (agent === null) throw unknownRun(runId);
  return { agent, runId };
}
