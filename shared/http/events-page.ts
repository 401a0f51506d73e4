// A page of a run's events, over all its streams or one; and the wait for the next one. Read-only: a reader never holds a lease or a connection.
import * as z from "zod";
import type { RawEvent } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import { jsonBytes } from "../core/json.ts";
import {
  EVENT_FIELD_BRIEF_BYTES,
  EVENTS_PAGE,
  EVENTS_PAGE_BYTES,
  EVENTS_PAGE_STREAMS,
  EVENTS_POLL_MS,
} from "../core/limits.ts";
import { json } from "../core/messages.ts";
import type { Store, StreamRow } from "../ports/store.ts";
import { decodeCursor, decodeSeq, encodeCursor } from "./cursor.ts";

export interface PageEvent {
  readonly stream: string;
  readonly seq: number;
  readonly type: string;
  /** RFC 3339, by the database's clock. */
  readonly recordedAt: string;
  readonly payload: Json;
  /** Names of the payload's fields that were left out for their size. */
  readonly omitted?: readonly string[] | undefined;
}

export interface Page {
  readonly events: readonly PageEvent[];
  /** Pass it as `after` for what follows. */
  readonly next: string;
  /** More was there already: ask at once. */
  readonly more: boolean;
  /** Every stream of the page has ended and was read whole: nothing follows. */
  readonly ended: boolean;
}

const pageEvent: z.ZodType<PageEvent> = z.object({
  stream: z.string().meta({ description: "`run`, or `task:<taskId>`." }),
  seq: z.int().positive(),
  type: z.string(),
  recordedAt: z.string().meta({ format: "date-time" }),
  payload: json,
  omitted: z.array(z.string()).optional().meta({ description: "Fields left out for their size; ask with `full`." }),
});
export const eventsPage: z.ZodType<Page> = z.object({
  events: z.array(pageEvent),
  next: z.string().meta({ description: "Pass it as `after`." }),
  more: z.boolean().meta({ description: "More is there already: ask at once." }),
  ended: z.boolean().meta({ description: "Nothing will follow." }),
});

export interface PageQuery {
  readonly agent: string;
  readonly runId: string;
  /** Null: all streams of the run. */
  readonly stream: string | null;
  readonly after: string;
  readonly full: boolean;
  /** Events at most. Default: as many as a page holds. */
  readonly limit?: number;
  readonly waitMs: number;
}

export interface PageDeps {
  readonly store: { readonly streams: Pick<Store["streams"], "read">; readonly runs: Pick<Store["runs"], "streams"> };
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The next page; if it would be empty, waits for up to `waitMs` for one that isn't. Null: the run has no such stream. */
export async function readPage(deps: PageDeps, query: PageQuery, signal: AbortSignal): Promise<Page | null> {
  const heads = query.stream === null ? decodeCursor(query.after) : new Map([[query.stream, decodeSeq(query.after)]]);
  for (let waited = 0; ; waited += EVENTS_POLL_MS) {
    const rows = await deps.store.runs.streams(query.agent, query.runId);
    const wanted = query.stream === null ? rows : rows.filter((row) => row.streamId === query.stream);
    if (wanted.length === 0) return null;
    const behind = wanted.filter((row) => row.headSeq > (heads.get(row.streamId) ?? 0));
    const ended = wanted.every((row) => row.status === "ended");
    if (behind.length > 0) return collect(deps, query, heads, behind, ended);
    const over = ended || waited >= query.waitMs;
    if (!over) await deps.sleep(Math.min(EVENTS_POLL_MS, query.waitMs - waited), signal);
    if (over || signal.aborted) {
      return { events: [], next: nextOf(query, heads), more: false, ended };
    }
  }
}

async function collect(
  deps: PageDeps,
  query: PageQuery,
  from: ReadonlyMap<string, number>,
  behind: readonly StreamRow[],
  ended: boolean,
): Promise<Page> {
  const limit = query.limit ?? EVENTS_PAGE;
  const turn = behind.slice(0, EVENTS_PAGE_STREAMS);
  const logs: { stream: string; events: RawEvent[] }[] = [];
  for (const row of turn) {
    const ref = { agent: query.agent, runId: query.runId, streamId: row.streamId };
    logs.push({
      stream: row.streamId,
      events: await deps.store.streams.read(ref, from.get(row.streamId) ?? 0, limit),
    });
  }
  const heads = new Map(from);
  const events: PageEvent[] = [];
  let bytes = 0;
  for (const { stream, event } of merged(logs)) {
    const shown = show(stream, event, query.full);
    bytes += jsonBytes(shown.payload);
    if (events.length > 0 && (events.length >= limit || bytes > EVENTS_PAGE_BYTES)) break;
    events.push(shown);
    heads.set(stream, event.seq);
  }
  const more = behind.some((row) => row.headSeq > (heads.get(row.streamId) ?? 0));
  return { events, next: nextOf(query, heads), more, ended: ended && !more };
}

const nextOf = (query: PageQuery, heads: ReadonlyMap<string, number>): string =>
  query.stream === null ? encodeCursor(heads) : String(heads.get(query.stream) ?? 0);

/** The events of several streams by time; within a stream always by seq, also where the clock stepped back. */
function* merged(
  logs: readonly { stream: string; events: readonly RawEvent[] }[],
): Generator<{ stream: string; event: RawEvent }> {
  const at = logs.map(() => 0);
  for (;;) {
    let first = -1;
    for (const [i, log] of logs.entries()) {
      const time = log.events[at[i] ?? 0]?.recordedAt;
      if (time === undefined) continue;
      if (first < 0 || time < (logs[first]?.events[at[first] ?? 0]?.recordedAt ?? Infinity)) first = i;
    }
    const log = logs[first];
    const event = log?.events[at[first] ?? 0];
    if (log === undefined || event === undefined) return;
    at[first] = (at[first] ?? 0) + 1;
    yield { stream: log.stream, event };
  }
}

function show(stream: string, event: RawEvent, full: boolean): PageEvent {
  const payload = event.payload as Readonly<Record<string, Json>>;
  const recordedAt = new Date(event.recordedAt).toISOString();
  const head = { stream, seq: event.seq, type: event.type, recordedAt };
  if (full) return { ...head, payload };
  const omitted = Object.keys(payload).filter((key) => jsonBytes(payload[key] ?? null) > EVENT_FIELD_BRIEF_BYTES);
  if (omitted.length === 0) return { ...head, payload };
  const brief = Object.fromEntries(Object.entries(payload).filter(([key]) => !omitted.includes(key)));
  return { ...head, payload: brief, omitted };
}
