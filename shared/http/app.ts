// The HTTP API: the same app on a laptop and behind API Gateway. Only web standards here, and every link is relative, so it works under a stage path.
import { Hono, type MiddlewareHandler } from "hono";
import { messageOf, TorenError } from "../core/errors.ts";
import { listAgents } from "./agents.ts";
import { bearer, isKey } from "./auth.ts";
import type { HttpContext, HttpDeps, HttpEnv } from "./deps.ts";
import { addFile, listFiles, removeFile } from "./files.ts";
import { runCall, runOutline } from "./inspect.ts";
import { openApi } from "./openapi.ts";
import { showOverview } from "./overview.ts";
import { problemOf, problemOfThrown, problemResponse } from "./problems.ts";
import { cancelRun, createRun, getRun, listRuns, runEvents, runTurns } from "./runs.ts";
import { decideApproval, resumeRun, retryRun, sendMessage } from "./speak.ts";
import { staticFiles } from "./static-files.ts";

export interface AppOptions {
  /** The stage's path where the host leaves it in the request's, as in `/prod`. Default: none. */
  readonly basePath?: string;
}

/** A route's work: plain functions of the request and its dependencies. */
export type Route = (c: HttpContext, deps: HttpDeps) => Promise<Response>;

export interface RouteEntry {
  readonly method: "GET" | "POST" | "DELETE";
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  readonly open?: true;
  readonly handle: Route;
}

/** Every route there is; `/openapi.json` describes exactly these (a test holds them equal). */
export const ROUTES: readonly RouteEntry[] = [
  { method: "GET", path: "/healthz", open: true, handle: async (c) => c.json({ status: "ok" }) },
  { method: "GET", path: "/openapi.json", handle: async (c) => c.json(openApi) },
  { method: "GET", path: "/agents", handle: listAgents },
  { method: "GET", path: "/overview", handle: showOverview },
  { method: "POST", path: "/files", handle: addFile },
  { method: "GET", path: "/files", handle: listFiles },
  { method: "DELETE", path: "/files/{fileId}", handle: removeFile },
  { method: "POST", path: "/runs", handle: createRun },
  { method: "GET", path: "/runs", handle: listRuns },
  { method: "GET", path: "/runs/{runId}", handle: getRun },
  { method: "GET", path: "/runs/{runId}/events", handle: runEvents },
  { method: "GET", path: "/runs/{runId}/outline", handle: runOutline },
  { method: "GET", path: "/runs/{runId}/tasks/{taskId}/calls/{seq}", handle: runCall },
  { method: "GET", path: "/runs/{runId}/turns", handle: runTurns },
  { method: "POST", path: "/runs/{runId}/approvals", handle: decideApproval },
  { method: "POST", path: "/runs/{runId}/messages", handle: sendMessage },
  { method: "POST", path: "/runs/{runId}/cancel", handle: cancelRun },
  { method: "POST", path: "/runs/{runId}/resume", handle: resumeRun },
  { method: "POST", path: "/runs/{runId}/retry", handle: retryRun },
];

export function createApp(deps: HttpDeps, options: AppOptions = {}): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>().basePath(options.basePath ?? "/");
  const open = ROUTES.filter((r) => r.open === true);
  for (const route of open) app.on(route.method, honoPath(route.path), (c) => route.handle(c, deps));
  if (deps.console !== undefined) app.use("*", staticFiles(deps.console, options.basePath ?? ""));
  // Whatever comes after this line needs a key, unknown paths too: who has none learns nothing of what there is.
  app.use("*", authenticated(deps));
  for (const route of ROUTES) {
    if (route.open !== true) app.on(route.method, honoPath(route.path), (c) => route.handle(c, deps));
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

function authenticated(deps: HttpDeps): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const header = c.req.header("authorization");
    const key = bearer(header);
    if (key === null) {
      const say = header === undefined ? "No API key." : "The Authorization header isn't a bearer key.";
      throw new TorenError("auth.missing", `${say} Send it as "Authorization: Bearer toren_…".`);
    }
    if (!isKey(key))
      throw new TorenError("auth.invalid", "This isn't a Toren key (its checksum is wrong). Was it copied whole?");
    const name = await deps.admits(key);
    if (name === null) throw new TorenError("auth.invalid", "This key isn't known here.");
    c.set("keyName", name);
    await next();
  };
}
