// The HTTP API behind API Gateway: the same app as on a laptop, under whatever path the stage has, since all its links are relative.
import type { Context } from "aws-lambda";
import { Hono } from "hono";
import { handle, type LambdaContext, type LambdaEvent } from "hono/aws-lambda";
import { createKeys } from "../shared/adapters/store/keys.ts";
import { createOverview } from "../shared/adapters/store/overview.ts";
import { createApp } from "../shared/http/app.ts";
import { problemOfThrown, problemResponse } from "../shared/http/problems.ts";
import type { Aws } from "./aws.ts";
import { httpDeps } from "./http-deps.ts";

export type HttpApp = ReturnType<typeof createApp>;
export type ApiEvent = LambdaEvent;
export type ApiAnswer = Awaited<ReturnType<ReturnType<typeof handle>>>;
export type ApiHandler = (event: ApiEvent, context: Context) => Promise<ApiAnswer>;

/** The app over the composition; its keys are the database's. */
export function appOf({ engine, database, agents }: Pick<Aws, "engine" | "database" | "agents">): HttpApp {
  const keys = createKeys(database);
  return createApp(
    httpDeps({
      engine,
      problems: () => agents.problems,
      admits: (key) => keys.nameOf(key),
      overview: createOverview(database),
    }),
  );
}

/** REST API proxy events in, their answers out. */
export function createApiHandler(app: Pick<Hono, "fetch">): ApiHandler {
  const answer = handle(app as Hono);
  return (event, context) => answer(event, context as unknown as LambdaContext);
}

/** What every request is answered with when there is no app: the database is away, or has no connection left. It says when to come again. */
export const appWithout = (thrown: unknown): Hono =>
  new Hono().all("*", () => problemResponse(problemOfThrown(thrown).problem));
