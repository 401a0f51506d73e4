// The three forms of the append statement and their parameters: a batch that needs nothing but its heads moved has a cheap one, alone the cheapest.
import type { Pool } from "pg";
import { GRACE_MS } from "../../core/limits.ts";
import { streamIdOf } from "../../core/stream-id.ts";
import type { Next } from "../../ports/store.ts";
import type { Item } from "./committer.ts";
import { send } from "./statements.ts";
import { tallyOf } from "./tally.ts";

/** What became of an item. `again`: nothing of it was written, send it anew. */
export interface Row {
  readonly ord: number;
  readonly inbox_seq: number;
  readonly status: "running" | "parked" | "ready" | "ended";
  readonly outcome: "ok" | "conflict" | "again" | "budget" | "heard";
  readonly rang: boolean;
  /** Of the run, where the outcome is `budget`. */
  readonly spent_tokens?: number | null;
  readonly spent_nano?: number | null;
}

/** What an open task of a run that ends is told. */
const RUN_ENDED = JSON.stringify({ kind: "cancel", code: "task.cancelled", reason: "the run has ended" });

/** What a run is told whose parent ends before it. */
const PARENT_ENDED = JSON.stringify({
  kind: "cancel",
  code: "run.cancelled",
  reason: "the run that started this one has ended",
});

/** The same of a part of a run that goes on anew. */
const TASK_LEFT = JSON.stringify({ kind: "cancel", code: "task.cancelled", reason: "the run has gone on anew" });
const CHILD_LEFT = JSON.stringify({
  kind: "cancel",
  code: "run.cancelled",
  reason: "the run that started this one has gone on anew",
});

/** True when nothing but the head and the lease moves: then the cheap form of the statement will do. */
const isPlain = ({ append: a }: Item): boolean =>
  a.next.type === "run" && a.purse === undefined && (a.lease.wait === null || a.head !== a.lease.head);

/** One try. @throws the driver's own error: then nothing of the batch is written, or all of it, unheard. */
export async function sendBatch(pool: Pool, agent: string, items: readonly Item[]): Promise<Row[]> {
  if (!items.every(isPlain)) return send<Row>(pool, "append-full", agent, fullValues(items), true);
  const written =
    items.length === 1
      ? await send<Reach>(pool, "append-one", agent, oneValues(items), true)
      : await send<Reach>(pool, "append-plain", agent, plainValues(items), true);
  const reach = new Map(written.map((row) => [row.ord ?? 0, row.inbox_seq]));
  return items.map((_, ord) => ({
    ord,
    inbox_seq: reach.get(ord) ?? 0,
    status: "running",
    outcome: reach.has(ord) ? "ok" : "conflict",
    rang: false,
  }));
}

interface Reach {
  /** Missing where there is but one. */
  readonly ord?: number;
  readonly inbox_seq: number;
}

/** Of the one item. */
const oneValues = (items: readonly Item[]): unknown[] => {
  const [, ...columns] = [...places(items), items.map((item) => item.append.progress), leases(items)] as unknown[][];
  const [, types, payloads] = eventColumns(items);
  const [item] = items;
  const tally = item === undefined ? null : tallyOf(item.append);
  return [...columns.map(([value]) => value), types, payloads, tally?.some((count) => count > 0) ? tally : null];
};

/** $1..$6 of the forms for many. */
const places = (items: readonly Item[]): unknown[] => {
  const appends = items.map((item) => item.append);
  return [
    appends.map((_, ord) => ord),
    appends.map((a) => a.lease.stream.runId),
    appends.map((a) => a.lease.stream.streamId),
    appends.map((a) => a.head),
    appends.map((a) => a.lease.epoch),
    appends.map((a) => a.events.length),
  ];
};

const leases = (items: readonly Item[]): number[] => items.map((item) => item.append.lease.leaseMs);

const tallies = (items: readonly Item[]): number[] => items.flatMap((item) => tallyOf(item.append));

/** The last three of the forms for many: where each item's events begin, and all events. One JSON array of payloads: an array of texts is escaped once more. */
function eventColumns(items: readonly Item[]): unknown[] {
  let count = 0;
  const before = items.map((item) => {
    const first = count;
    count += item.events.length;
    return first;
  });
  const events = items.flatMap((item) => item.events);
  return [before, events.map((e) => e.type), `[${events.map((e) => e.text).join(",")}]`];
}

const plainValues = (items: readonly Item[]): unknown[] => [
  ...places(items),
  items.map((item) => item.append.progress),
  leases(items),
  ...eventColumns(items),
  tallies(items),
];

function fullValues(items: readonly Item[]): unknown[] {
  const next = items.map((item) => item.append.next);
  const of = <T extends Next["type"], V>(type: T, pick: (next: Extract<Next, { type: T }>) => V): (V | null)[] =>
    next.map((n) => (n.type === type ? pick(n as Extract<Next, { type: T }>) : null));
  return [
    ...places(items),
    next.map((n) => n.type),
    items.map((item) => item.append.progress),
    of("release", (n) => n.keepAttempts ?? false),
    next.map((n) => ("absorbed" in n ? (n.absorbed ?? null) : null)),
    of("park", (n) => n.wait),
    of("park", (n) => n.wakeAt),
    of("release", (n) => n.afterMs),
    of("end", (n) => n.outcome.status),
    items.map((item) => item.output),
    items.map((item) => item.error),
    leases(items),
    GRACE_MS,
    RUN_ENDED,
    ...eventColumns(items),
    ...purseColumns(items),
    tallies(items),
    PARENT_ENDED,
    ...stopColumns(items),
    TASK_LEFT,
    CHILD_LEFT,
  ];
}

/** What those that go on anew stop. */
function stopColumns(items: readonly Item[]): unknown[] {
  const stops = items.flatMap(({ append: { next, lease } }, ord) =>
    next.type !== "continue"
      ? []
      : [
          ...next.tasks.map((taskId) => ({ ord, runId: lease.stream.runId, streamId: streamIdOf(taskId) })),
          ...next.children.map((runId) => ({ ord, runId, streamId: "run" })),
        ],
  );
  return [stops.map((s) => s.ord), stops.map((s) => s.runId), stops.map((s) => s.streamId)];
}

const purseColumns = (items: readonly Item[]): unknown[] => {
  const purses = items.map((item) => item.append.purse);
  return [
    purses.map((p) => p?.hold.tokens ?? null),
    purses.map((p) => p?.hold.nanoUsd ?? null),
    purses.map((p) => p?.spend.tokens ?? null),
    purses.map((p) => p?.spend.nanoUsd ?? null),
    purses.map((p) => p?.keep ?? false),
  ];
};
