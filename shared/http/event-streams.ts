// A run's events as server-sent events, over the app's own long poll: who asks with `Accept: text/event-stream` gets each page as it comes, and between them
// what models say while they say it, until the run has ended or the answer's time is over. The client asks again by itself then, with Last-Event-ID, and goes
// on where it was. Everything else is the app's.
import { Hono } from "hono";
import { EVENTS_COMMENT_MS, EVENTS_LAST_MS, LIVE_WAITING_PIECES_MAX } from "../core/limits.ts";
import type { LiveIn, LivePiece } from "../ports/live.ts";
import type { Page, PageEvent } from "./events-page.ts";

type App = Pick<Hono, "fetch">;

export interface EventStreamOptions {
  /** How much time this answer has; left out: all the time there is. */
  remainingMs?(request: Request): number;
  /** Left out: readers see what is recorded alone. */
  readonly live?: LiveIn | undefined;
  /** Aborts when the server ends: streams end with what there is. */
  readonly closing?: AbortSignal;
}

export function withEventStreams(app: App, options: EventStreamOptions): Hono {
  const outer = new Hono();
  outer.get("/runs/:runId/events", async (c, next) => {
    const request = c.req.raw;
    if (!(request.headers.get("accept") ?? "").includes("text/event-stream")) return await next();
    const query = new URL(request.url).searchParams;
    const after = request.headers.get("last-event-id") ?? query.get("after") ?? "";
    const first = await askFor(app, request, after, 0);
    if (!first.ok) return first; // a problem document, as for any client
    const reader = { app, request, runId: c.req.param("runId"), stream: query.get("stream"), ...options };
    const texts = follow(reader, (await first.json()) as Page);
    return new Response(ReadableStream.from(texts).pipeThrough(new TextEncoderStream()), { headers: HEADERS });
  });
  outer.all("*", (c) => app.fetch(c.req.raw, c.env));
  return outer;
}

const HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" };

async function askFor(
  app: App,
  request: Request,
  after: string,
  waitMs: number,
  enough?: AbortSignal,
): Promise<Response> {
  const url = new URL(request.url);
  url.searchParams.set("after", after);
  url.searchParams.set("wait", String(waitMs / 1_000));
  const signal = enough === undefined ? request.signal : AbortSignal.any([request.signal, enough]);
  return await app.fetch(new Request(url, { headers: request.headers, signal }));
}

interface Reader extends EventStreamOptions {
  readonly app: App;
  readonly request: Request;
  readonly runId: string;
  /** Null: all of them. */
  readonly stream: string | null;
}

async function* follow(reader: Reader, first: Page): AsyncGenerator<string> {
  const { app, request, closing, remainingMs = () => Number.POSITIVE_INFINITY } = reader;
  const pieces = createPieces(reader.stream);
  let look = new AbortController();
  const leave = reader.live?.watch(reader.runId, pieces.push, () => look.abort());
  try {
    for (let page = first; ; ) {
      pieces.recorded(page.events);
      yield page.events.length === 0 ? ": nothing yet\n\n" : textOf(page);
      if (page.ended && !page.more) return yield "event: end\ndata: {}\n\n";
      const waitMs = page.more ? 0 : Math.min(EVENTS_COMMENT_MS, remainingMs(request) - EVENTS_LAST_MS);
      if (waitMs < 0 || closing?.aborted || request.signal.aborted) return;
      look = new AbortController(); // a wait is cut short when there is more to read
      const asked = askFor(app, request, page.next, waitMs, look.signal);
      const came = asked.then(
        () => true,
        () => true,
      );
      while (!(await Promise.race([came, pieces.arrival()]))) yield pieces.take().map(delta).join("");
      const next = await asked;
      if (!next.ok) return; // the client asks again, and is told why
      page = (await next.json()) as Page;
    }
  } finally {
    leave?.();
  }
}

interface Pieces {
  push(piece: LivePiece): void;
  /** What is recorded needs no pieces any more: late ones are dropped. */
  recorded(events: readonly PageEvent[]): void;
  /** False, as soon as there are some to take. */
  arrival(): Promise<false>;
  take(): LivePiece[];
}

function createPieces(only: string | null): Pieces {
  /** By stream, the seq of the last end of a call: pieces of calls before it are late. */
  const ends = new Map<string, number>();
  let waiting: LivePiece[] = [];
  let wake = (): void => {};
  const isLate = ({ stream, call }: LivePiece): boolean => call < (ends.get(stream) ?? 0);
  return {
    push: (piece) => {
      if ((only !== null && piece.stream !== only) || isLate(piece) || waiting.length >= LIVE_WAITING_PIECES_MAX)
        return;
      waiting.push(piece);
      wake();
    },
    recorded: (events) => {
      for (const { stream, seq, type } of events)
        if (type === "LlmCallCompleted" || type === "LlmCallFailed") ends.set(stream, seq);
      waiting = waiting.filter((piece) => !isLate(piece));
    },
    arrival: () =>
      new Promise((resolve) => {
        wake = () => resolve(false);
        if (waiting.length > 0) wake();
      }),
    take: () => waiting.splice(0),
  };
}

/** The last event of a page carries its cursor: who loses the connection within a page sees it again from its beginning. */
const textOf = (page: Page): string =>
  page.events.map((event, i) => sse(event, i === page.events.length - 1 ? page.next : null)).join("");

const sse = (event: PageEvent, id: string | null): string =>
  `${id === null ? "" : `id: ${id}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** Without an id: it is no place to go on from. */
const delta = (piece: LivePiece): string => `event: delta\ndata: ${JSON.stringify(piece)}\n\n`;
