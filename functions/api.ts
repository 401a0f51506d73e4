// The HTTP API behind API Gateway: the same app as on a laptop, under whatever path the stage has, since all its links are relative.
import type { Context } from "aws-lambda";
import { Hono } from "hono";
import { handle, type LambdaContext, type LambdaEvent } from "hono/aws-lambda";
import { createApp } from "../shared/http/app.ts";
import { problemOfThrown, problemResponse } from "../shared/http/problems.ts";
import type { Aws } from "./aws.ts";
import { bundledConsole } from "./bundled-console.ts";
import { httpDeps } from "./http-deps.ts";

export type HttpApp = ReturnType<typeof createApp>;
export type ApiEvent = LambdaEvent;
export type ApiAnswer = Awaited<ReturnType<ReturnType<typeof handle>>>;
export type ApiHandler = (event: ApiEvent, context: Context) => Promise<ApiAnswer>;

/** The app over the composition; its keys are the database's. It appends to no log: those who do aren't asked. */
export const appOf = ({
  engine,
  database,
  agents,
  queues,
}: Pick<Aws, "engine" | "database" | "agents" | "queues">): HttpApp =>
  createApp(httpDeps({ engine, database, queues, problems: () => agents.problems, console: bundledConsole() }));

/** REST API proxy events in, their answers out. */
export function createApiHandler(app: Pick<Hono, "fetch">): ApiHandler {
  const answer = handle(app as Hono);
  return async (event, context) => toFolder(event) ?? (await answer(event, context as unknown as LambdaContext));
}

interface Redirect {
  readonly statusCode: 308;
  readonly headers: Readonly<Record<"location", string>>;
  readonly body: "";
  readonly isBase64Encoded: false;
}

/** The page's links are relative to the stage as a folder: who leaves out its slash is sent there. */
function toFolder(event: ApiEvent): Redirect | null {
  if (!("httpMethod" in event) || event.httpMethod !== "GET" || event.path !== "/") return null;
  const asked = (event.requestContext as { readonly path?: string }).path ?? "/";
  if (asked.endsWith("/")) return null;
  const location = `${asked.slice(asked.lastIndexOf("/") + 1)}/`;
  return { statusCode: 308, headers: { location }, body: "", isBase64Encoded: false };
}

/** What every request is answered with when there is no app: the database is away, or has no connection left. It says when to come again. */
export const appWithout = (thrown: unknown): Hono =>
  new Hono().all("*", () => problemResponse(problemOfThrown(thrown).problem));
