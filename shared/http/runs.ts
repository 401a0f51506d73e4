// Routes of runs: start, list, read, follow, cancel. What people tell a run is in speak.ts.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { type Json, NotJson, toJson } from "../core/json.ts";
import {
  ATTRIBUTE_VALUE_MAX_CHARS,
  ATTRIBUTES_MAX,
  CANCEL_REASON_MAX_CHARS,
  COST_CAP_MAX_USD,
  ERROR_PATH_CHARS,
  EVENTS_PAGE,
  EVENTS_WAIT_MAX_MS,
  FILTER_VALUES_MAX,
  REQUEST_BODY_BYTES,
  RUN_FILES_MAX,
  RUNS_PAGE,
  RUNS_PAGE_MAX,
  SEARCH_TEXT_MAX_CHARS,
  TURNS_PAGE,
  TURNS_PAGE_MAX,
} from "../core/limits.ts";
import { json } from "../core/messages.ts";
import { RUN_STATUSES } from "../core/run-status.ts";
import { ATTRIBUTE_KEY } from "../core/terms.ts";
import type { Told } from "../engine/cancel-run.ts";
import type { AuditEntry } from "../ports/audit.ts";
import { actorOf, demandAgent, maySee, seenBy } from "./access.ts";
import { check, readJson } from "./body.ts";
import type { HttpContext, HttpDeps, RunRef } from "./deps.ts";
import { readPage } from "./events-page.ts";
import { BadRequest } from "./problems.ts";
import { readQuery } from "./query.ts";
import { runJson, runSummary, summaryJson, turnsJson } from "./run-json.ts";
import { instant } from "./words.ts";

const name = z.string().min(1).max(200);
const attributeKey = z
  .string()
  .regex(ATTRIBUTE_KEY, "a key begins with a letter, then letters, digits, `_`, `.`, `-`: 40 characters");
const attributes = z
  .record(
    attributeKey,
    z
      .string()
      .min(1)
      .max(ATTRIBUTE_VALUE_MAX_CHARS)
      .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), "must be text without control characters"),
  )
  .refine((given) => Object.keys(given).length <= ATTRIBUTES_MAX, `must have at most ${ATTRIBUTES_MAX} keys`);

export const newRun = z.strictObject({
  agent: name,
  process: name.optional(),
  input: json,
  attributes: attributes.default({}).meta({ description: "Labels to find the run by." }),
  files: z.array(z.string().min(1).max(200)).max(RUN_FILES_MAX).default([]),
  limits: z
    .strictObject({
      maxCostUsd: z.number().positive().max(COST_CAP_MAX_USD).optional(),
      totalTokens: z.int().positive().optional(),
    })
    .default({})
    .meta({ description: "What the run may use; where its agent has a limit of its own, the lower one holds." }),
});

export const startedOut = z.object({ runId: z.string(), agent: z.string() });
export const toldOut = z.object({ runId: z.string() });
export const runsPage = z.object({ runs: z.array(runSummary), next: z.string().nullable() });

/** RFC draft idempotency-key: printable ASCII, so that it survives every proxy. */
const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,200}$/, "1 to 200 printable ASCII characters without spaces");

export async function createRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, newRun);
  demandAgent(c, body.agent);
  const key = idempotencyKeyOf(c);
  const traceparent = c.req.header("traceparent"); // one that can't be read is left out, as W3C asks
  const started = await deps.useCases.startRun({
    agent: body.agent,
    ...(body.process === undefined ? {} : { process: body.process }),
    input: recordable(body.input),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    files: body.files,
    attributes: body.attributes,
    startedBy: actorOf(c),
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
export function recordable(input: Json): Json {
  try {
    return toJson(input);
  } catch (e) {
    if (!(e instanceof NotJson)) throw e;
    const path = `$.input${e.path.slice(1, ERROR_PATH_CHARS)}`.toWellFormed();
    throw new BadRequest(`The input can't be recorded: ${e.message}.`, [{ path, message: e.message }]);
  }
}

const several = <T extends z.ZodType>(item: T) => z.array(item).min(1).max(FILTER_VALUES_MAX);
export const listQuery = z.strictObject({
  agent: several(name).optional().meta({ description: "Of these agents." }),
  status: several(z.enum(RUN_STATUSES)).optional().meta({ description: "In one of these statuses." }),
  process: name.optional().meta({ description: "Of this process." }),
  since: instant.optional().meta({ description: "Created at this time or later." }),
  until: instant.optional().meta({ description: "Created before this time." }),
  text: z.string().min(1).max(SEARCH_TEXT_MAX_CHARS).optional().meta({
    description:
      "The beginning of the run's id (4 characters at least), or beginnings of words of its input: all of them.",
  }),
  attributes: attributes.optional().meta({ description: "`attributes.<key>=<value>`, once for each key." }),
  cursor: z.string().min(1).max(500).optional().meta({ description: "The `next` of the page before." }),
  limit: z.coerce.number().int().min(1).max(RUNS_PAGE_MAX).default(RUNS_PAGE).meta({ description: "Runs in a page." }),
});

export async function listRuns(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const query = readQuery(c, listQuery, { lists: ["agent", "status"], prefix: "attributes" });
  const { agent, status: statuses, process, since, until, text, cursor: before, limit } = query;
  const agents = listedAgents(c, agent);
  const { attributes: labels } = query;
  const page = await deps.store.runs.list(
    given({ agents, statuses, process, since, until, text, attributes: labels, before, limit }),
  );
  return c.json({ runs: page.runs.map(summaryJson), next: page.next });
}

/** Those asked for, as far as the caller may see them; undefined: all. */
function listedAgents(c: HttpContext, asked: readonly string[] | undefined): readonly string[] | undefined {
  const { agents } = c.get("caller");
  return agents === null ? asked : seenBy(c, asked ?? agents);
}

/** Without what wasn't given. */
const given = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

export async function getRun(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const ref = await findRun(c, deps);
  const view = await deps.useCases.readRun(ref);
  if (view === null) throw unknownRun(ref.runId);
  return c.json(runJson(view));
}

export const turnsQuery = z.strictObject({
  before: z.coerce.number().int().nonnegative().optional().meta({
    description: "The `next` of the page after; left out: the last turns.",
  }),
  limit: z.coerce.number().int().min(1).max(TURNS_PAGE_MAX).default(TURNS_PAGE).meta({
    description: "Turns in a page; fewer where they are long.",
  }),
});

export async function runTurns(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { before = null, limit } = readQuery(c, turnsQuery);
  const read = await deps.useCases.readTurns({ ...(await findRun(c, deps)), before, limit });
  if (read.type === "refused") throw new TorenError(read.error.code, read.error.message);
  return c.json(turnsJson(read.page));
}

const flag = z
  .enum(["", "1", "true", "0", "false"])
  .transform((text) => text === "" || text === "1" || text === "true");
export const eventsQuery = z.strictObject({
  stream: z.string().min(1).max(100).optional().meta({
    description: "Only this stream: `run`, or `task:<taskId>`. Then `after` is a seq.",
  }),
  after: z.string().default("").meta({ description: "The `next` of the page before; left out: from the start." }),
  wait: z.coerce
    .number()
    .min(0)
    .max(EVENTS_WAIT_MAX_MS / 1_000)
    .default(0)
    .meta({ description: "Seconds to wait for an event." }),
  full: flag.default(false).meta({ description: "Large fields too." }),
  limit: z.coerce.number().int().min(1).max(EVENTS_PAGE).default(EVENTS_PAGE).meta({ description: "Events at most." }),
});

export async function runEvents(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const query = readQuery(c, eventsQuery);
  const ref = await findRun(c, deps);
  const stream = query.stream ?? null;
  const page = await readPage(
    deps,
    { ...ref, stream, after: query.after, full: query.full, limit: query.limit, waitMs: query.wait * 1_000 },
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
  const told = await deps.useCases.cancelRun({ ...ref, reason });
  await noteTold(c, deps, ref, told, { action: "run.cancelled", subject: null });
  return answerTold(c, ref.runId, told);
}

/** For the audit, once it is done: whoever was refused did nothing. */
export async function noteTold(
  c: HttpContext,
  deps: HttpDeps,
  ref: RunRef,
  told: Told,
  what: Pick<AuditEntry, "action" | "subject">,
): Promise<void> {
  if (told.type === "told") await deps.audit.note({ ...actorOf(c), ...ref, ...what });
}

/** 202: the run's own writer acts on it, soon. */
export function answerTold(c: HttpContext, runId: string, told: Told): Response {
  if (told.type === "refused") throw new TorenError(told.error.code, told.error.message);
  return c.json({ runId }, 202);
}

const unknownRun = (runId: string): TorenError =>
  new TorenError("run.unknown", `There is no run "${runId}" here. GET runs lists them.`);

/** The run that the path names, looked up once a request. @throws TorenError `run.unknown` */
export async function findRun(c: HttpContext, deps: HttpDeps): Promise<RunRef> {
  const known = c.get("run");
  if (known !== undefined) return known;
  const runId = c.req.param("runId");
  // Ids are UUIDs; what isn't one is no run's, and never reaches the database.
  if (runId === undefined || !z.guid().safeParse(runId).success) throw unknownRun(runId ?? "");
  const agent = await deps.store.runs.agentOf(runId);
  // Of a run that isn't the caller's to see, they aren't told that there is one.
  if (agent === null || !maySee(c.get("caller"), agent)) throw unknownRun(runId);
  const run = { agent, runId };
  c.set("run", run);
  return run;
}
