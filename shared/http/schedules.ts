// Schedules: runs that start by a clock.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import {
  CRON_MAX_CHARS,
  KEY_NAME_MAX_CHARS,
  REQUEST_BODY_BYTES,
  SCHEDULE_TIMES,
  SCHEDULE_TIMES_MAX,
} from "../core/limits.ts";
import { json } from "../core/messages.ts";
import type { Scheduled } from "../engine/schedules.ts";
import type { AuditAction } from "../ports/audit.ts";
import type { Schedule } from "../ports/schedules.ts";
import { actorOf, demandAgent, maySee } from "./access.ts";
import { readJson } from "./body.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { readQuery } from "./query.ts";
import { rfc3339, time } from "./run-json.ts";
import { recordable } from "./runs.ts";
import { label } from "./words.ts";

const process = z.string().min(1).max(200);
const catchUp = z.enum(["none", "last", "all"]).meta({
  description:
    "Of times at which nobody was there to fire: none of them, the last one, all of them (of many the last ones).",
});
const parts = {
  name: label(KEY_NAME_MAX_CHARS).meta({ description: "Its runs have it as the label `schedule`." }),
  cron: z
    .string()
    .trim()
    .min(1)
    .max(CRON_MAX_CHARS)
    .meta({ description: "Minute, hour, day, month, weekday; or @daily and the like." }),
  zone: z.string().min(1).max(100).meta({ description: "An IANA time zone, as Europe/Berlin." }),
  process,
  input: json.meta({ description: "Of each of its runs." }),
  catchUp,
  enabled: z.boolean(),
};

export const newSchedule = z.strictObject({
  ...parts,
  agent: z.string().min(1).max(200),
  zone: parts.zone.default("UTC"),
  process: process.default("main"),
  catchUp: catchUp.default("last"),
  enabled: parts.enabled.default(true),
});
export const scheduleChange = z.strictObject(parts).partial();

const schedule = z.object({
  id: z.string(),
  name: z.string(),
  agent: z.string(),
  process: z.string(),
  input: json,
  cron: z.string(),
  zone: z.string(),
  catchUp,
  enabled: z.boolean(),
  nextAt: time.nullable().meta({ description: "Null: it is paused, or never fires again." }),
  last: z.object({ at: time, runId: z.string() }).nullable().meta({ description: "What it fired last." }),
  problem: z.string().nullable().meta({ description: "Why it last couldn't start its run." }),
  createdAt: time,
  createdBy: z.string(),
});
export const scheduleOut = schedule;
export const scheduleWithTimes = schedule.extend({
  next: z.array(time).meta({ description: "When it fires next, paused or not." }),
});
export const scheduleList = z.object({ schedules: z.array(schedule) });
export type ScheduleJson = z.infer<typeof schedule>;
export type ScheduleWithTimesJson = z.infer<typeof scheduleWithTimes>;

const scheduleJson = (s: Schedule): ScheduleJson => ({
  id: s.id,
  name: s.name,
  agent: s.agent,
  process: s.process,
  input: s.input,
  cron: s.cron,
  zone: s.zone,
  catchUp: s.catchUp,
  enabled: s.nextAt !== null,
  nextAt: s.nextAt === null ? null : rfc3339(s.nextAt),
  last: s.last && { at: rfc3339(s.last.at), runId: s.last.runId },
  problem: s.problem,
  createdAt: rfc3339(s.createdAt),
  createdBy: s.createdBy,
});

export async function createSchedule(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const body = await readJson(c.req.raw, REQUEST_BODY_BYTES, newSchedule);
  demandAgent(c, body.agent);
  const request = { ...body, input: recordable(body.input) };
  return c.json(
    await saved(c, deps, await deps.useCases.createSchedule(request, actorOf(c).by), "schedule.created"),
    201,
  );
}

export async function listSchedules(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const all = await deps.schedules.list();
  return c.json({ schedules: all.filter((s) => maySee(c.get("caller"), s.agent)).map(scheduleJson) });
}

export const scheduleQuery = z.strictObject({
  next: z.coerce.number().int().min(0).max(SCHEDULE_TIMES_MAX).default(SCHEDULE_TIMES).meta({
    description: "How many of its next times.",
  }),
});

export async function getSchedule(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { next: count } = readQuery(c, scheduleQuery);
  const found = await find(c, deps);
  const next = await deps.useCases.scheduleTimes(found, count);
  return c.json({ ...scheduleJson(found), next: next.map(rfc3339) });
}

export async function changeSchedule(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { input, ...rest } = await readJson(c.req.raw, REQUEST_BODY_BYTES, scheduleChange);
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return change(c, deps, input === undefined ? given : { ...given, input: recordable(input) });
}

export const pauseSchedule = (c: HttpContext, deps: HttpDeps): Promise<Response> => change(c, deps, { enabled: false });
export const resumeSchedule = (c: HttpContext, deps: HttpDeps): Promise<Response> => change(c, deps, { enabled: true });

async function change(
  c: HttpContext,
  deps: HttpDeps,
  what: Parameters<HttpDeps["useCases"]["changeSchedule"]>[1],
): Promise<Response> {
  const found = await find(c, deps);
  return c.json(await saved(c, deps, await deps.useCases.changeSchedule(found, what), "schedule.changed"));
}

export async function removeSchedule(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const found = await find(c, deps);
  if (!(await deps.schedules.remove(found.id))) throw unknown(found.id);
  await note(c, deps, found, "schedule.removed");
  return c.json({ id: found.id });
}

async function find(c: HttpContext, deps: HttpDeps): Promise<Schedule> {
  const id = c.req.param("scheduleId") ?? "";
  const found = z.guid().safeParse(id).success ? await deps.schedules.get(id) : null;
  if (found === null || !maySee(c.get("caller"), found.agent)) throw unknown(id);
  return found;
}

const unknown = (id: string): TorenError =>
  new TorenError("not_found", `No schedule has the id "${id}". GET schedules lists them.`);

async function saved(c: HttpContext, deps: HttpDeps, done: Scheduled, action: AuditAction): Promise<ScheduleJson> {
  if (done.type === "refused") throw new TorenError(done.error.code, done.error.message);
  await note(c, deps, done.schedule, action);
  return scheduleJson(done.schedule);
}

const note = (c: HttpContext, deps: HttpDeps, { agent, name, id }: Schedule, action: AuditAction): Promise<void> =>
  deps.audit.note({ ...actorOf(c), action, agent, runId: null, subject: `${name} ${id}` });
