// Who asks, and whether they may: the key of a request, its scopes and agents, and how often it asks.
import type { MiddlewareHandler } from "hono";
import { TorenError } from "../core/errors.ts";
import { REQUESTS_BURST, REQUESTS_PER_S } from "../core/limits.ts";
import type { Scope } from "../core/scopes.ts";
import type { Admission, Caller } from "../ports/keys.ts";
import { bearer, isKey } from "./auth.ts";
import type { HttpContext, HttpDeps, HttpEnv } from "./deps.ts";

export function authenticated({ admit }: Pick<HttpDeps, "admit">): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const header = c.req.header("authorization");
    const key = bearer(header);
    if (key === null) {
      const say = header === undefined ? "No API key." : "The Authorization header isn't a bearer key.";
      throw new TorenError("auth.missing", `${say} Send it as "Authorization: Bearer toren_…".`);
    }
    if (!isKey(key))
      throw new TorenError("auth.invalid", "This isn't a Toren key (its checksum is wrong). Was it copied whole?");
    const admission = await admit(key);
    if (admission.type !== "admitted") throw refused(admission.type);
    c.set("caller", admission.caller);
    await next();
  };
}

function refused(why: Exclude<Admission["type"], "admitted">): TorenError {
  if (why === "revoked") return new TorenError("auth.revoked", "This key was revoked. Ask an admin for another.");
  if (why === "expired") return new TorenError("auth.expired", "This key has expired. Ask an admin for another.");
  return new TorenError("auth.invalid", "This key isn't known here.");
}

/** @throws TorenError `auth.forbidden` */
export function demand(caller: Caller, scope: Scope, wholeInstallation: boolean): void {
  if (!caller.scopes.includes(scope) && !caller.scopes.includes("admin"))
    throw new TorenError(
      "auth.forbidden",
      `This needs the scope "${scope}"; the key "${caller.name}" has ${said(caller.scopes)}.`,
    );
  if (wholeInstallation && caller.agents !== null)
    throw new TorenError(
      "auth.forbidden",
      `This is about all agents; the key "${caller.name}" is for ${said(caller.agents)}.`,
    );
}

const said = (names: readonly string[]): string =>
  names.length === 0 ? "none" : names.map((name) => `"${name}"`).join(", ");

export const maySee = ({ agents }: Caller, agent: string): boolean => agents === null || agents.includes(agent);

/** @throws TorenError `auth.forbidden` */
export function demandAgent(c: HttpContext, agent: string): void {
  const caller = c.get("caller");
  if (!maySee(caller, agent))
    throw new TorenError(
      "auth.forbidden",
      `The key "${caller.name}" is for ${said(caller.agents ?? [])}, not for "${agent}".`,
    );
}

/** Of some agents those that the caller may see. */
export const seenBy = (c: HttpContext, agents: readonly string[]): string[] =>
  agents.filter((agent) => maySee(c.get("caller"), agent));

/** Who is behind what the request does. */
export const actorOf = (c: HttpContext): { readonly by: string; readonly keyId: string | null } => {
  const { name: by, keyId } = c.get("caller");
  return { by, keyId };
};

/**
 * A bucket of requests for each key, in this process alone: it holds back a client in a loop, and API Gateway's throttle bounds an installation of many
 * processes. `elapsedMs` measures.
 */
export function rateLimited(elapsedMs: () => number = () => performance.now()): MiddlewareHandler<HttpEnv> {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return async (c, next) => {
    const { keyId } = c.get("caller");
    const now = elapsedMs();
    const before = buckets.get(keyId ?? "") ?? { tokens: REQUESTS_BURST, at: now };
    const tokens = Math.min(REQUESTS_BURST, before.tokens + ((now - before.at) / 1_000) * REQUESTS_PER_S) - 1;
    if (tokens < 0)
      throw new TorenError(
        "request.too_many",
        `More than ${REQUESTS_PER_S} requests a second with this key. Ask again later.`,
      );
    buckets.set(keyId ?? "", { tokens, at: now });
    await next();
  };
}
