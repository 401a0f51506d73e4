// The HTTP API: the same app on a laptop and behind API Gateway. Only web standards here, and every link is relative, so it works under a stage path.
import { Hono } from "hono";
import { messageOf } from "../core/errors.ts";
import type { Scope } from "../core/scopes.ts";
import { authenticated, demand, rateLimited } from "./access.ts";
import { listAgents } from "./agents.ts";
import { exportRun, forkRun } from "./copies.ts";
import { dropDeadLetter, getDeadLetter, listDeadLetters, sendDeadLetter } from "./dead-letters.ts";
import type { HttpContext, HttpDeps, HttpEnv } from "./deps.ts";
import { eraseRun, prune } from "./erase.ts";
import { addFile, beginUpload, listFiles, removeFile } from "./files.ts";
import { runCall, runOutline } from "./inspect.ts";
import { createKey, listAudit, listKeys, revokeKey } from "./keys.ts";
import { showMetrics } from "./metrics.ts";
import { openApi } from "./openapi.ts";
import { showOverview } from "./overview.ts";
import { problemOf, problemOfThrown, problemResponse } from "./problems.ts";
import { cancelRun, createRun, findRun, getRun, listRuns, runEvents, runTurns } from "./runs.ts";
import {
  changeSchedule,
  createSchedule,
  getSchedule,
  listSchedules,
  pauseSchedule,
  removeSchedule,
  resumeSchedule,
} from "./schedules.ts";
import { decideApproval, resumeRun, retryRun, sendMessage, sendSignal } from "./speak.ts";
import { staticFiles } from "./static-files.ts";

export interface AppOptions {
  /** The stage's path where the host leaves it in the request's, as in `/prod`. Default: none. */
  readonly basePath?: string;
}

/** A route's work: plain functions of the request and its dependencies. */
export type Route = (c: HttpContext, deps: HttpDeps) => Promise<Response>;

export interface RouteEntry {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  /** What a key must be allowed to; `open`: nobody needs a key. */
  readonly scope: Scope | "open";
  /** It is about all agents: keys that are for some of them are refused. */
  readonly whole?: true;
  readonly handle: Route;
}

/** Every route there is; `/openapi.json` describes exactly these (a test holds them equal). */
export const ROUTES: readonly RouteEntry[] = [
  { method: "GET", path: "/healthz", scope: "open", handle: async (c) => c.json({ status: "ok" }) },
  { method: "GET", path: "/openapi.json", scope: "open", handle: async (c) => c.json(openApi) },
  { method: "GET", path: "/agents", scope: "read", handle: listAgents },
  { method: "GET", path: "/overview", scope: "read", handle: showOverview },
  { method: "GET", path: "/metrics", scope: "read", whole: true, handle: showMetrics },
  { method: "GET", path: "/keys", scope: "admin", whole: true, handle: listKeys },
  { method: "POST", path: "/keys", scope: "admin", whole: true, handle: createKey },
  { method: "DELETE", path: "/keys/{keyId}", scope: "admin", whole: true, handle: revokeKey },
  { method: "GET", path: "/audit", scope: "admin", whole: true, handle: listAudit },
  { method: "POST", path: "/files", scope: "run", handle: addFile },
  { method: "POST", path: "/uploads", scope: "run", handle: beginUpload },
  { method: "GET", path: "/files", scope: "read", whole: true, handle: listFiles },
  { method: "DELETE", path: "/files/{fileId}", scope: "run", whole: true, handle: removeFile },
  { method: "DELETE", path: "/runs/{runId}", scope: "admin", handle: eraseRun },
  { method: "POST", path: "/prune", scope: "admin", whole: true, handle: prune },
  { method: "GET", path: "/dead-letters", scope: "read", whole: true, handle: listDeadLetters },
  { method: "GET", path: "/dead-letters/{id}", scope: "read", whole: true, handle: getDeadLetter },
  { method: "POST", path: "/dead-letters/{id}/send", scope: "admin", whole: true, handle: sendDeadLetter },
  { method: "DELETE", path: "/dead-letters/{id}", scope: "admin", whole: true, handle: dropDeadLetter },
  { method: "POST", path: "/runs", scope: "run", handle: createRun },
  { method: "GET", path: "/runs", scope: "read", handle: listRuns },
  { method: "GET", path: "/runs/{runId}", scope: "read", handle: getRun },
  { method: "GET", path: "/runs/{runId}/events", scope: "read", handle: runEvents },
  { method: "GET", path: "/runs/{runId}/outline", scope: "read", handle: runOutline },
  { method: "GET", path: "/runs/{runId}/tasks/{taskId}/calls/{seq}", scope: "read", handle: runCall },
  { method: "GET", path: "/runs/{runId}/turns", scope: "read", handle: runTurns },
  { method: "POST", path: "/runs/{runId}/approvals", scope: "approve", handle: decideApproval },
  { method: "POST", path: "/runs/{runId}/messages", scope: "run", handle: sendMessage },
  { method: "POST", path: "/runs/{runId}/signals", scope: "run", handle: sendSignal },
  { method: "POST", path: "/runs/{runId}/cancel", scope: "run", handle: cancelRun },
  { method: "POST", path: "/runs/{runId}/resume", scope: "approve", handle: resumeRun },
  { method: "POST", path: "/runs/{runId}/retry", scope: "run", handle: retryRun },
  { method: "POST", path: "/runs/{runId}/fork", scope: "run", handle: forkRun },
  { method: "GET", path: "/runs/{runId}/export", scope: "read", handle: exportRun },
  { method: "GET", path: "/schedules", scope: "read", handle: listSchedules },
  { method: "POST", path: "/schedules", scope: "admin", handle: createSchedule },
  { method: "GET", path: "/schedules/{scheduleId}", scope: "read", handle: getSchedule },
  { method: "PATCH", path: "/schedules/{scheduleId}", scope: "admin", handle: changeSchedule },
  { method: "DELETE", path: "/schedules/{scheduleId}", scope: "admin", handle: removeSchedule },
  { method: "POST", path: "/schedules/{scheduleId}/pause", scope: "admin", handle: pauseSchedule },
  { method: "POST", path: "/schedules/{scheduleId}/resume", scope: "admin", handle: resumeSchedule },
];

export function createApp(deps: HttpDeps, options: AppOptions = {}): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>().basePath(options.basePath ?? "/");
  const limited = rateLimited();
  for (const route of ROUTES) {
    if (route.scope === "open") app.on(route.method, honoPath(route.path), (c) => route.handle(c, deps));
  }
  if (deps.console !== undefined) app.use("*", staticFiles(deps.console, options.basePath ?? ""));
  // Whatever comes after this line needs a key, unknown paths too: who has none learns nothing of what there is.
  app.use("*", authenticated(deps), limited);
  for (const { method, path, scope, whole = false, handle } of ROUTES) {
    if (scope === "open") continue;
    app.on(method, honoPath(path), async (c) => {
      demand(c.get("caller"), scope, whole);
      if (path.includes("{runId}")) await findRun(c, deps); // here, so that no route can forget whose run it is
      return await handle(c, deps);
    });
  }
  app.notFound((c) => unknownRoute(c, options.basePath ?? ""));
  app.onError((thrown, c) => {
    const { problem, bug } = problemOfThrown(thrown);
    if (bug !== null)
      deps.log.error("request failed", { method: c.req.method, path: c.req.path, error: messageOf(thrown) });
    return problemResponse(problem);
  });
  return app;
}

const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

function unknownRoute(c: HttpContext, basePath: string): Response {
  const { method, path } = c.req;
  const methods = ROUTES.filter((route) => matches(route.path, path.slice(basePath.length))).map((r) => r.method);
  if (methods.length === 0) {
    const message = `There is no ${method} ${path} here. GET openapi.json describes the routes.`;
    return problemResponse(problemOf({ code: "not_found", message }));
  }
  const message = `${path} doesn't take ${method}; it takes ${methods.join(" and ")}.`;
  const response = problemResponse(problemOf({ code: "method_not_allowed", message }));
  response.headers.set("allow", methods.join(", "));
  return response;
}

const matches = (route: string, path: string): boolean =>
  new RegExp(`^${route.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);
