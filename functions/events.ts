// A run's events as server-sent events, over the app's own long poll: who asks with `Accept: text/event-stream` gets each page as it comes, until the run
// has ended or the invocation nears its end. The client asks again by itself then, with Last-Event-ID, and goes on where it was. Everything else is the app's.
import { Hono } from "hono";
import { EVENTS_COMMENT_MS, EVENTS_LAST_MS } from "../shared/core/limits.ts";
import type { Page, PageEvent } from "../shared/http/events-page.ts";

type App = Pick<Hono, "fetch">;

export interface EventStreamOptions {
  /** How much time this answer has. */
  remainingMs(request: Request): number;
}

export function withEventStreams(app: App, { remainingMs }: EventStreamOptions): Hono {
  const outer = new Hono();
  outer.get("/runs/:runId/events", async (c, next) => {
    const request = c.req.raw;
    if (!(request.headers.get("accept") ?? "").includes("text/event-stream")) return await next();
    const after = request.headers.get("last-event-id") ?? new URL(request.url).searchParams.get("after") ?? "";
    const first = await askFor(app, request, after, 0);
    if (!first.ok) return first; // a problem document, as for any client
    const pages = follow(app, request, (await first.json()) as Page, () => remainingMs(request));
    return new Response(ReadableStream.from(pages).pipeThrough(new TextEncoderStream()), { headers: HEADERS });
  });
  outer.all("*", (c) => app.fetch(c.req.raw, c.env));
  return outer;
}

const HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" };

async function askFor(app: App, request: Request, after: string, waitMs: number): Promise<Response> {
  const url = new URL(request.url);
  url.searchParams.set("after", after);
  url.searchParams.set("wait", String(waitMs / 1_000));
  return await app.fetch(new Request(url, { headers: request.headers, signal: request.signal }));
}

async function* follow(app: App, request: Request, first: Page, leftMs: () => number): AsyncGenerator<string> {
  for (let page = first; ; ) {
    yield page.events.length === 0 ? ": nothing yet\n\n" : textOf(page);
    if (page.ended && !page.more) return yield "event: end\ndata: {}\n\n";
    const waitMs = page.more ? 0 : Math.min(EVENTS_COMMENT_MS, leftMs() - EVENTS_LAST_MS);
    if (waitMs < 0) return;
    const next = await askFor(app, request, page.next, waitMs);
    if (!next.ok) return; // the client asks again, and is told why
    page = (await next.json()) as Page;
  }
}

/** The last event of a page carries its cursor: who loses the connection within a page sees it again from its beginning. */
const textOf = (page: Page): string =>
  page.events.map((event, i) => sse(event, i === page.events.length - 1 ? page.next : null)).join("");

const sse = (event: PageEvent, id: string | null): string =>
  `${id === null ? "" : `id: ${id}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
