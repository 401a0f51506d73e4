// The function behind `GET /runs/{runId}/events`: pages and event streams, answered as they come.
import { Hono } from "hono";
import { type LambdaContext, streamHandle } from "hono/aws-lambda";
import { createNotices } from "../../shared/adapters/database/notices.ts";
import { createLiveIn } from "../../shared/adapters/live/postgres.ts";
import { withEventStreams } from "../../shared/http/event-streams.ts";
import { appOf, appWithout } from "../api.ts";
import { lambda } from "../lambda.ts";

/** As hono's adapter hands them on. */
interface Bindings {
  readonly context: LambdaContext;
}

const app = lambda<Request, Response>({
  name: "events",
  make: (aws, log) => {
    const inner = appOf(aws);
    const live = createLiveIn({ database: aws.database, notices: createNotices(aws.database, log) });
    return async (request, context) =>
      await withEventStreams(inner, { live, remainingMs: () => context.getRemainingTimeInMillis() }).fetch(request);
  },
  unready: async ({ thrown, event }) => await appWithout(thrown).fetch(event),
});

const edge = new Hono<{ Bindings: Bindings }>().all("*", (c) =>
  app(c.req.raw, c.env.context as unknown as Parameters<typeof app>[1]),
);

export const handler: unknown = streamHandle(edge as unknown as Hono);
