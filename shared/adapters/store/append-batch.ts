// One batch of appends on its way to the database: the statement's form, what is tried again, and the truth about an acknowledgement that got lost.
import type { Pool } from "pg";
import { TorenError } from "../../core/errors.ts";
import { COMMIT_TRIES, GRACE_MS, SETTLE_TRIES } from "../../core/limits.ts";
import type { Appended, Next } from "../../ports/store.ts";
import type { Item } from "./committer.ts";
import { explained, kindOf, pause, send } from "./statements.ts";

interface Row {
  readonly ord: number;
  readonly inbox_seq: number;
  readonly status: "running" | "parked" | "ready" | "ended";
  readonly outcome: "ok" | "conflict" | "again";
  readonly rang: boolean;
}

/** What an open task of a run that ends is told. */
export const RUN_ENDED = JSON.stringify({ kind: "cancel", code: "task.cancelled", reason: "the run has ended" });

/** True when nothing but the head and the lease moves: then the cheap form of the statement will do. */
export const isPlain = ({ append: a }: Item): boolean =>
  a.next.type === "run" && (a.lease.wait === null || a.head !== a.lease.head);

/** Settles every item; never rejects. */
export type Appender = (items: readonly Item[]) => Promise<void>;

export function createAppender(pool: Pool, agent: string): Appender {
  /** `doubtful`: an earlier try of the same may have landed, unheard. */
  const submit = async (items: readonly Item[], doubtful: boolean, resent: number): Promise<void> => {
    let rows: Row[] = [];
    for (let tries = 1; ; tries++) {
      try {
        rows = await run(items);
        break;
      } catch (e) {
        const kind = kindOf(e);
        if (kind === "item" && items.length > 1) return alone(items, doubtful, resent);
        if ((kind !== "lost" && kind !== "contention") || tries >= COMMIT_TRIES) {
          for (const item of items) item.reject(explained(e));
          return;
        }
        doubtful ||= kind === "lost";
        await pause(tries);
      }
    }
    await answer(items, rows, doubtful, resent);
  };
  const alone = async (items: readonly Item[], doubtful: boolean, resent: number): Promise<void> => {
    for (const item of items) await submit([item], doubtful, resent);
  };

  const run = async (items: readonly Item[]): Promise<Row[]> => {
    if (!items.every(isPlain)) return send<Row>(pool, "append-full", agent, fullValues(items), true);
    const written = await send<Pick<Row, "ord" | "inbox_seq">>(pool, "append-plain", agent, plainValues(items), true);
    const reach = new Map(written.map((row) => [row.ord, row.inbox_seq]));
    return items.map((_, ord) => ({
      ord,
      inbox_seq: reach.get(ord) ?? 0,
      status: "running",
      outcome: reach.has(ord) ? "ok" : "conflict",
      rang: false,
    }));
  };

  const answer = async (
    items: readonly Item[],
    rows: readonly Row[],
    doubtful: boolean,
    resent: number,
  ): Promise<void> => {
    const again: Item[] = [];
    const unsure: Item[] = [];
    for (const row of rows) {
      const item = items[row.ord];
      if (item === undefined) continue;
      if (row.outcome === "ok") item.resolve(ok(item, row.inbox_seq, row.status, row.rang));
      else if (row.outcome === "again") again.push(item);
      else if (doubtful) unsure.push(item);
      else item.resolve({ type: "conflict" });
    }
    if (unsure.length > 0) again.push(...(await recognise(unsure)));
    if (again.length === 0) return;
    if (resent < SETTLE_TRIES) return submit(again, doubtful, resent + 1);
    for (const item of again)
      item.reject(new TorenError("database.unavailable", `${item.streamKey}: the append was moved on ${resent} times`));
  };

  /** Conflicts after a doubtful try: those that were our own doing are answered so; the ones to send anew are returned. */
  const recognise = async (items: readonly Item[]): Promise<Item[]> => {
    let seen: Seen[];
    try {
      seen = await readBack(pool, agent, items);
    } catch (e) {
      for (const item of items) item.reject(explained(e));
      return [];
    }
    return items.filter((item, ord) => {
      const verdict = judge(
        item,
        seen.find((row) => row.ord === ord),
      );
      if (verdict !== "again") item.resolve(verdict);
      return verdict === "again";
    });
  };

  return (items) => submit(items, false, 0);
}

interface Seen {
  readonly ord: number;
  readonly head_seq: number;
  readonly lease_epoch: number;
  readonly lease_owner: string | null;
  readonly inbox_seq: number;
  readonly rang: boolean;
}

async function readBack(pool: Pool, agent: string, items: readonly Item[]): Promise<Seen[]> {
  const refs = items.map((item) => item.append.lease.stream);
  for (let tries = 1; ; tries++) {
    try {
      return await send<Seen>(
        pool,
        "read-append",
        agent,
        [refs.map((_, i) => i), refs.map((r) => r.runId), refs.map((r) => r.streamId)],
        true,
      );
    } catch (e) {
      if (kindOf(e) !== "lost" || tries >= COMMIT_TRIES) throw e;
      await pause(tries);
    }
  }
}

/** Whether a repeated append that met a conflict had landed the first time. Under my epoch nobody but me writes, and nobody but me lets go of the lease. */
function judge(item: Item, seen: Seen | undefined): Appended | "again" {
  const { append: a } = item;
  if (seen === undefined || seen.lease_epoch !== a.lease.epoch) return { type: "conflict" };
  const letGo = seen.lease_owner === null;
  const landed = seen.head_seq === a.head + a.events.length && (a.events.length > 0 || letGo);
  if (!landed) return seen.head_seq === a.head && !letGo ? "again" : { type: "conflict" };
  const status = letGo ? LETS_GO[a.next.type] : "running"; // a park that was refused keeps the lease
  return ok(item, seen.inbox_seq, status, a.next.type === "end" && seen.rang);
}

const LETS_GO = { run: "running", park: "parked", release: "ready", end: "ended" } as const;

const ok = ({ append: a }: Item, inboxSeq: number, status: Row["status"], rang: boolean): Appended => ({
  type: "ok",
  head: a.head + a.events.length,
  inboxSeq,
  status,
  rang,
});

/** $1..$6 of both forms. */
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

/** The last four of both forms: one entry an event. */
const eventColumns = (items: readonly Item[]): unknown[] => {
  const rows = items.flatMap((item, ord) => item.events.map((e, i) => ({ ord, i: i + 1, ...e })));
  return [rows.map((e) => e.ord), rows.map((e) => e.i), rows.map((e) => e.type), rows.map((e) => e.text)];
};

const plainValues = (items: readonly Item[]): unknown[] => [
  ...places(items),
  items.map((item) => item.append.progress),
  leases(items),
  ...eventColumns(items),
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
    of("park", (n) => n.absorbed),
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
  ];
}
