// Over 300 lines: one statement. The append statement as its query file describes it, in the store's twin for the simulation: up to a whole batch of streams at once.

import { TorenError } from "../../shared/core/errors.ts";
import { type Json, type JsonObject, jsonBytes } from "../../shared/core/json.ts";
import { GRACE_MS, PAYLOAD_MAX_BYTES } from "../../shared/core/limits.ts";
import { type Amount, NOTHING } from "../../shared/core/task/ledger.ts";
import type { Append, NewEvent, StreamRow } from "../../shared/ports/store.ts";
import { type Run, type Stream, streamKey, type Transaction, type Wave } from "./database.ts";
import { payAll, poorOnes } from "./purse.ts";
import { restate } from "./restate.ts";
import { stored } from "./stored.ts";

export interface Written {
  readonly outcome: "ok" | "conflict" | "again" | "heard" | "budget";
  /** Where the outcome is `budget`. */
  readonly spent?: Amount;
  readonly inboxSeq: number;
  readonly status: StreamRow["status"];
  readonly rang: boolean;
}

/** @throws TorenError `payload.too_large`, before anything is written. */
export function refuseTooLarge(what: string, value: unknown): void {
  const bytes = jsonBytes(value as Json);
  if (bytes <= PAYLOAD_MAX_BYTES) return;
  const message = `${what} has ${bytes} bytes as JSON; at most ${PAYLOAD_MAX_BYTES} bytes can be recorded.`;
  throw new TorenError("payload.too_large", message);
}

interface Target {
  readonly runId: string;
  readonly streamId: string;
}
interface Fresh {
  readonly append: Append;
  readonly row: Stream;
  /** The wave that this item settles. */
  readonly wave: number | null;
}
interface Bell {
  readonly runId: string;
  readonly key: string;
  readonly fact: JsonObject;
  /** The one item of the batch that is told to have rung. */
  readonly ringer: Append;
}

export async function appendStatement(
  tx: Transaction,
  items: readonly Append[],
  clockOffMs: number,
): Promise<Written[]> {
  const targets = targetsOf(tx, items);
  const stale = tx.db.plants.bellBySnapshot ? wavesNow(tx, items) : null;
  await tx.lock(inOrder(tx, targets));
  const rows = targets.flatMap((t) => tx.db.stream(t.runId, t.streamId) ?? []);
  const rowOf = (runId: string, streamId: string): Stream | undefined =>
    rows.find((r) => r.runId === runId && r.streamId === streamId);

  const fresh = new Map(items.map((append) => [append, freshOf(tx, append, rowOf)]));
  const here = [...fresh.values()].filter((f) => f !== null);
  const poor = await poorOnes(tx, here);
  const ok = here.filter((f) => waveSeen(tx, f) && !hasHeard(f) && !poor.has(f.append));
  payAll(tx, ok);
  const closing = new Set([
    ...ok.filter(endsRun).map((f) => f.row.runId),
    ...rows.filter((r) => r.streamId === "run" && r.status === "ended").map((r) => r.runId),
  ]);
  const bells = [
    ...(await settleWaves(tx, ok, stale)),
    ...ok.filter(endsRun).flatMap((f) => childBell(tx, f, rowOf)),
  ].filter((b) => !closing.has(b.runId));
  /** The end of the run, or of its part, that a row is told to stop by: its own task's, or its own child's. */
  const enderOf = (r: Stream): Fresh | undefined => {
    const above = r.streamId === "run" ? tx.db.run(r.runId)?.record.parent : r.runId;
    return ok.find((f) => f.row.runId === above && (endsRun(f) || stopsOf(tx, f.append).some((s) => isRow(s, r))));
  };
  const told = rows.filter((r) => {
    const endsItself = ok.some((f) => f.row === r && f.append.next.type === "end");
    return enderOf(r) !== undefined && r.status !== "ended" && !endsItself;
  });

  const moved = new Map<Append, Stream>();
  for (const row of rows) {
    const item = ok.find((f) => f.row === row);
    const rung = row.streamId === "run" ? bells.filter((b) => b.runId === row.runId).length : 0;
    const posts = rung + (told.includes(row) ? 1 : 0);
    if (item === undefined && posts === 0) continue;
    const next = moveRow(tx, row, item?.append ?? null, posts, clockOffMs);
    tx.update(next);
    if (item !== undefined) moved.set(item.append, next);
  }
  for (const f of ok) insertEvents(tx, f.row, f.append.events);
  tx.write(() => {
    for (const f of ok) tx.db.landed.add(f.append);
  });
  if (tx.db.plants.joinByStream) insertForeignEvents(tx, items, fresh, ok);
  postBells(tx, bells, rowOf);
  for (const row of told) {
    const own = row.streamId === "run";
    const has = enderOf(row)?.append.next.type === "continue" ? "has gone on anew" : "has ended";
    const fact = own
      ? { kind: "cancel", code: "run.cancelled", reason: `the run that started this one ${has}` }
      : { kind: "cancel", code: "task.cancelled", reason: `the run ${has}` };
    const rung = own ? bells.filter((b) => b.runId === row.runId).length : 0;
    post(tx, row, row.inboxSeq + rung + 1, `ended:${enderOf(row)?.row.headSeq}`, fact);
  }
  await restate(tx, ok, moved);

  return items.map((append) => {
    const row = moved.get(append);
    const f = fresh.get(append) ?? null;
    const spent = poor.get(append);
    if (spent !== undefined) return { outcome: "budget", inboxSeq: 0, status: "running", rang: false, spent };
    if (row === undefined && f !== null && hasHeard(f))
      return { outcome: "heard", inboxSeq: f.row.inboxSeq, status: "running", rang: false };
    if (row === undefined || f === null)
      return { outcome: f === null ? "conflict" : "again", inboxSeq: 0, status: "running", rang: false };
    const rang = bells.some((b) => b.ringer === append);
    return { outcome: "ok", inboxSeq: row.inboxSeq, status: row.status, rang };
  });
}

/** A fact came that the end was conditional on. */
const hasHeard = ({ append: { next }, row }: Fresh): boolean =>
  next.type === "end" && next.absorbed !== undefined && next.absorbed !== row.inboxSeq;

/** What a run that goes on anew stops: tasks of its own, and its own children. */
function stopsOf(tx: Transaction, { next, lease }: Append): Target[] {
  if (next.type !== "continue" || tx.db.plants.nothingStopped) return [];
  const { runId } = lease.stream;
  const children = next.children.filter((id) => tx.db.run(id)?.record.parent === runId);
  return [
    ...next.tasks.map((taskId) => ({ runId, streamId: `task:${taskId}` })),
    ...children.map((id) => ({ runId: id, streamId: "run" })),
  ];
}
const isRow = (target: Target, row: Stream): boolean => target.runId === row.runId && target.streamId === row.streamId;

const endsRun = ({ append: a }: Fresh): boolean => a.next.type === "end" && a.lease.stream.streamId === "run";

/** As the snapshot shows them: the items' own rows, the run's of every task that ends, every open task's of a run that ends, what one that goes on anew names. */
function targetsOf(tx: Transaction, items: readonly Append[]): Target[] {
  const targets = new Map<string, Target>();
  const add = (runId: string, streamId: string): void => {
    if (tx.sees(tx.db.stream(runId, streamId))) targets.set(streamKey(runId, streamId), { runId, streamId });
  };
  for (const item of items) {
    const { lease, next } = item;
    const { runId, streamId } = lease.stream;
    add(runId, streamId);
    for (const stopped of stopsOf(tx, item)) add(stopped.runId, stopped.streamId);
    if (next.type !== "end") continue;
    add(runId, "run");
    if (streamId !== "run") continue;
    for (const s of tx.db.run(runId)?.streams.values() ?? []) if (s.status !== "ended") add(runId, s.streamId);
    const parent = tx.db.run(runId)?.record.parent ?? null;
    if (parent !== null) add(parent, "run");
    for (const { record } of tx.db.childrenOf(runId)) if (record.ended === null) add(record.runId, "run");
  }
  return [...targets.values()];
}

export function inOrder(tx: Transaction, targets: readonly Target[]): string[] {
  const keys = targets.map((t) => streamKey(t.runId, t.streamId)).sort();
  return tx.db.plants.anyLockOrder && tx.db.random.chance(0.5) ? keys.reverse() : keys;
}

function freshOf(tx: Transaction, append: Append, rowOf: (r: string, s: string) => Stream | undefined): Fresh | null {
  const { lease, head, next } = append;
  const row = rowOf(lease.stream.runId, lease.stream.streamId);
  if (row === undefined || row.headSeq !== head) return null;
  if (!tx.db.plants.noEpoch && (row.leaseEpoch !== lease.epoch || row.leaseOwner === null)) return null;
  return { append, row, wave: next.type === "end" && row.streamId !== "run" ? row.wave : null };
}

/** A wave inserted after the snapshot isn't there for this statement, though the locked row names it: again. */
const waveSeen = (tx: Transaction, f: Fresh): boolean =>
  f.wave === null || tx.sees(tx.db.run(f.row.runId)?.waves.get(f.wave));

/** For the planted mistake: the waves as the statement's snapshot shows them. */
const wavesNow = (tx: Transaction, items: readonly Append[]): ReadonlySet<Wave> =>
  new Set(items.flatMap((item) => [...(tx.db.run(item.lease.stream.runId)?.waves.values() ?? [])]));

/** `stale`: look there for the count that decides whether the bell rings; null: where it is true, in the locked row. */
async function settleWaves(tx: Transaction, ok: readonly Fresh[], stale: ReadonlySet<Wave> | null): Promise<Bell[]> {
  const settling = Map.groupBy(
    ok.filter((f) => f.wave !== null),
    (f) => `wave ${f.row.runId} ${f.wave}`,
  );
  await tx.lock([...settling.keys()].sort());
  return [...settling.values()].flatMap((some) => {
    const [{ row, wave }] = some as [Fresh];
    const run = tx.db.run(row.runId) as Run;
    const now = run.waves.get(wave as number) as Wave;
    const unsettled = now.unsettled - some.length;
    const broke = now.onFailure === "fail" && some.some(failed);
    const over = broke || (stale === null || stale.has(now) ? unsettled === 0 : unsettled < 0);
    const rings = !now.signalled && over;
    tx.write(() => run.waves.set(now.wave, { ...now, unsettled, signalled: now.signalled || over }));
    const ringer = (some.at(-1) as Fresh).append;
    const fact = { kind: "wave", wave: now.wave, broke };
    return rings ? [{ runId: row.runId, key: `wave:${now.wave}`, fact, ringer }] : [];
  });
}
/** A child that ends tells its parent, in the statement that ends it. */
function childBell(
  tx: Transaction,
  { append, row }: Fresh,
  rowOf: (r: string, s: string) => Stream | undefined,
): Bell[] {
  const parent = tx.db.run(row.runId)?.record.parent ?? null;
  if (parent === null || rowOf(parent, "run") === undefined || tx.db.plants.childEndsUnheard) return [];
  const fact = { kind: "child", run: row.runId };
  return [{ runId: parent, key: `child:${row.runId}:${row.headSeq}`, fact, ringer: append }];
}

const failed = (f: Fresh): boolean => f.append.next.type === "end" && f.append.next.outcome.status !== "completed";

function moveRow(tx: Transaction, s: Stream, item: Append | null, posts: number, clockOffMs: number): Stream {
  const now = tx.clock();
  const woken = s.status === "parked" ? { status: "ready" as const, wakeAt: now + GRACE_MS } : {};
  const heard = { ...s, inboxSeq: s.inboxSeq + posts };
  if (item === null) return { ...heard, ...woken };
  const { next, lease, events } = item;
  const hold = next.type === "end" ? NOTHING : (item.purse?.hold ?? s.hold);
  const base = { ...heard, hold, headSeq: s.headSeq + events.length, problem: events.length > 0 ? null : s.problem };
  const letGo = { leaseOwner: null, leaseUntil: null };
  const calm = { attempts: 0, soloAttempts: 0 };
  const count = item.progress ? calm : {};
  const renewed = { leaseUntil: now + lease.leaseMs + (tx.db.plants.workerClock ? clockOffMs : 0), wait: null };
  switch (next.type) {
    case "run":
      return { ...base, ...renewed, ...count };
    case "end":
      return { ...base, ...letGo, ...calm, status: "ended", outcome: next.outcome.status, wait: null, wakeAt: null };
    case "continue": {
      const sealed = { sealedSeq: base.headSeq - 1, sealedFacts: next.absorbed };
      return { ...base, ...letGo, ...calm, ...sealed, status: "ready", wait: null, wakeAt: now + GRACE_MS };
    }
    case "release": {
      const wait = events.length === 0 ? s.wait : null;
      const kept = next.keepAttempts ? count : calm;
      return { ...base, ...letGo, ...kept, status: "ready", wait, wakeAt: now + next.afterMs };
    }
    case "park": {
      const allSeen = tx.db.plants.parkBlindly || (s.inboxSeq === next.absorbed && posts === 0);
      if (!allSeen) return { ...base, ...renewed, ...count };
      const { wait, wakeAt, absorbed } = next;
      return { ...base, ...letGo, ...calm, status: "parked", wait, absorbed, wakeAt, problem: null };
    }
  }
}

export function insertEvents(tx: Transaction, row: Stream, events: readonly NewEvent[]): void {
  const { runId, streamId, headSeq } = row;
  const recordedAt = tx.clock();
  const made = events.map((e, i) => ({
    seq: headSeq + i + 1,
    type: e.type,
    payload: stored(e.payload as JsonObject),
    recordedAt,
  }));
  tx.write((born) => {
    const log = tx.db.run(runId)?.events;
    const before = log?.get(streamId) ?? [];
    log?.set(streamId, [...before, ...made.map((e) => ({ ...e, born }))]);
  });
}

/** The planted mistake: an item that didn't move has its events written where its stream moved for another's sake. */
function insertForeignEvents(
  tx: Transaction,
  items: readonly Append[],
  fresh: ReadonlyMap<Append, Fresh | null>,
  ok: readonly Fresh[],
): void {
  for (const item of items) {
    if (fresh.get(item) !== null) continue;
    const { runId, streamId } = item.lease.stream;
    const row = tx.db.stream(runId, streamId);
    if (row !== undefined && ok.some((f) => f.row.runId === runId)) insertEvents(tx, row, item.events);
  }
}

export function post(tx: Transaction, row: Stream, seq: number, key: string, payload: JsonObject): void {
  const recordedAt = tx.clock();
  tx.write((born) => {
    const inbox = tx.db.run(row.runId)?.inbox;
    inbox?.set(row.streamId, [...(inbox.get(row.streamId) ?? []), { seq, key, payload, recordedAt, born }]);
  });
}

function postBells(tx: Transaction, bells: readonly Bell[], rowOf: (r: string, s: string) => Stream | undefined): void {
  for (const [runId, some] of Map.groupBy(bells, (b) => b.runId)) {
    const row = rowOf(runId, "run");
    if (row === undefined) continue;
    for (const [i, { key, fact }] of some.toSorted((a, b) => (a.key < b.key ? -1 : 1)).entries())
      post(tx, row, row.inboxSeq + i + 1, key, fact);
  }
}
