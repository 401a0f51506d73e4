// API keys and the audit. A key is shown once, to whoever makes it: nobody else ever has it.
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import { AUDIT_PAGE, AUDIT_PAGE_MAX, KEY_AGENTS_MAX, KEY_NAME_MAX_CHARS, REQUEST_BODY_BYTES } from "../core/limits.ts";
import { SCOPES } from "../core/scopes.ts";
import type { AuditRow } from "../ports/audit.ts";
import type { KeyInfo } from "../ports/keys.ts";
import { actorOf } from "./access.ts";
import { newKey } from "./auth.ts";
import { readJson } from "./body.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { BadRequest } from "./problems.ts";
import { readQuery } from "./query.ts";
import { rfc3339, time } from "./run-json.ts";
import { agentName, instant, label } from "./words.ts";

const scopes = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length);

export const keyRequest = z.strictObject({
  name: label(KEY_NAME_MAX_CHARS).meta({ description: "What people know it by." }),
  scopes: scopes.meta({
    description:
      "`read`: look at everything; `run`: start, message and cancel runs, upload files; `approve`: decide about calls and cuts; `admin`: all of it, keys and schedules too.",
  }),
  agents: z.array(agentName).min(1).max(KEY_AGENTS_MAX).nullable().default(null).meta({
    description: "Only these agents and their runs. Null: all.",
  }),
  expiresAt: instant.nullable().default(null).meta({ description: "Null: it doesn't expire." }),
});

const keyOut = z.object({
  id: z.string(),
  name: z.string(),
  begins: z.string().nullable().meta({ description: "The key's first characters, to tell it from others." }),
  scopes,
  agents: z.array(z.string()).nullable(),
  createdAt: time,
  createdBy: z.string().nullable().meta({ description: "Null: the deployer." }),
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  lastUsedAt: time.nullable().meta({ description: "Exact to a minute." }),
});
export const madeKey = keyOut.extend({ key: z.string().meta({ description: "Shown now and never again." }) });
export const keysList = z.object({ keys: z.array(keyOut) });
export type KeyJson = z.infer<typeof keyOut>;
export type MadeKeyJson = z.infer<typeof madeKey>;

const maybe = (ms: number | null): string | null => (ms === null ? null : rfc3339(ms));
const keyJson = (key: KeyInfo): KeyJson => ({
  id: key.id,
  name: key.name,
  begins: key.begins,
  scopes: [...key.scopes],
  agents: key.agents && [...key.agents],
  createdAt: rfc3339(key.createdAt),
  createdBy: key.createdBy,
  expiresAt: maybe(key.expiresAt),
  revokedAt: maybe(key.revokedAt),
  lastUsedAt: maybe(key.lastUsedAt),
});

export async function createKey(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const asked = await readJson(c.req.raw, REQUEST_BODY_BYTES, keyRequest);
  const key = newKey();
  const actor = actorOf(c);
  const made = await deps.keys.create(key, { ...asked, scopes: [...new Set(asked.scopes)], createdBy: actor.by });
  if (made === null)
    throw new BadRequest("The key would have expired already.", [{ path: "$.expiresAt", message: "must lie ahead" }]);
  await deps.audit.note({
    ...actor,
    action: "key.created",
    agent: null,
    runId: null,
    subject: `${made.name} ${made.id}`,
  });
  const answer: MadeKeyJson = { ...keyJson(made), key };
  c.header("cache-control", "no-store");
  return c.json(answer, 201);
}

export async function listKeys(c: HttpContext, deps: HttpDeps): Promise<Response> {
  return c.json({ keys: (await deps.keys.list()).map(keyJson) });
}

export async function revokeKey(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const id = c.req.param("keyId") ?? "";
  const revoked = z.guid().safeParse(id).success ? await deps.keys.revoke(id) : null;
  if (revoked === null) throw new TorenError("not_found", `No key has the id "${id}". GET keys lists them.`);
  await deps.audit.note({
    ...actorOf(c),
    action: "key.revoked",
    agent: null,
    runId: null,
    subject: `${revoked.name} ${id}`,
  });
  return c.json(keyJson(revoked));
}
export const keyAnswer = keyOut;

export const auditQuery = z.strictObject({
  run: z.guid().optional().meta({ description: "Only about this run." }),
  cursor: z
    .string()
    .regex(/^a1\.[0-9a-z]{1,10}$/, "isn't one that a page of the audit gave")
    .optional()
    .meta({ description: "The `next` of the page before." }),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(AUDIT_PAGE_MAX)
    .default(AUDIT_PAGE)
    .meta({ description: "Rows in a page." }),
});

const auditRow = z.object({
  at: time,
  by: z.string().meta({ description: "Who says so: the name of the key, or of a schedule." }),
  keyId: z.string().nullable().meta({ description: "Null: a laptop's dev key, or a schedule." }),
  action: z.string(),
  agent: z.string().nullable(),
  runId: z.string().nullable(),
  subject: z.string().nullable().meta({ description: "A call, a key, a schedule." }),
});
export const auditPage = z.object({ entries: z.array(auditRow), next: z.string().nullable() });
export type AuditPageJson = z.infer<typeof auditPage>;

export async function listAudit(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const { run, cursor, limit } = readQuery(c, auditQuery);
  const before = cursor === undefined ? {} : { before: Number.parseInt(cursor.slice("a1.".length), 36) };
  const rows = await deps.audit.page({ ...(run === undefined ? {} : { runId: run }), ...before, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? `a1.${last.id.toString(36)}` : null;
  return c.json({ entries: shown.map(auditJson), next });
}

const auditJson = ({ id: _, at, ...row }: AuditRow): AuditPageJson["entries"][number] => ({ ...row, at: rfc3339(at) });
