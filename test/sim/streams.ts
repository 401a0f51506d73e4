// The store's streams in the simulation: each verb a statement or two, with the truth about lost answers found out as the port promises.

import { TorenError } from "../../shared/core/errors.ts";
import type { Fact } from "../../shared/core/events.ts";
import { canonical, type Json, toJson } from "../../shared/core/json.ts";
import { GRACE_MS, SETTLE_TRIES } from "../../shared/core/limits.ts";
import { NOTHING } from "../../shared/core/task/ledger.ts";
import type {
  Acquired,
  Append,
  Appended,
  Delivered,
  Lease,
  Plan,
  Planned,
  Renewed,
  StreamRef,
  StreamStore,
} from "../../shared/ports/store.ts";
import { appendStatement, post, refuseTooLarge, type Written } from "./append.ts";
import { ask, type Connection, repeatable } from "./connection.ts";
import { runKey, streamKey, type Transaction, UniqueViolation } from "./database.ts";
import { planStatement } from "./plan.ts";
import { stored } from "./stored.ts";

type As = Parameters<StreamStore["acquire"]>[1];

export function createSimStreams(connection: Connection): StreamStore {
  const { db, clockOffMs } = connection;
  return {
    acquire: (stream, as) => ask(connection, `acquire ${stream.streamId}`, (tx) => acquire(tx, stream, as, clockOffMs)),
    append: createCommitter(connection),
    plan: (plan) => planned(connection, plan),
    deliver: (stream, key, fact) => deliver(connection, stream, key, fact),
    renew: (leases, leaseMs) => ask(connection, "renew", (tx) => renew(tx, leases, leaseMs, clockOffMs)),
    read: ({ runId, streamId }, after, limit) =>
      ask(connection, `read ${streamId}`, (tx) => {
        const log = tx.db.run(runId)?.events.get(streamId) ?? [];
        const page = log.filter((e) => e.seq > after).slice(0, limit);
        return page.map(({ seq, type, payload, recordedAt }) => ({ seq, type, payload, recordedAt }));
      }),
    readInbox: ({ runId, streamId }, after) =>
      ask(connection, `inbox ${streamId}`, (tx) => {
        const items = (tx.db.run(runId)?.inbox.get(streamId) ?? []).filter((i) => i.seq > after);
        return items
          .toSorted((a, b) => a.seq - b.seq)
          .map((i) => ({ seq: i.seq, key: i.key, fact: factOf(i.payload) }));
      }),
    now: () => ask(connection, "clock", () => db.scheduler.now),
  };
}

const factOf = (payload: Json): Fact => stored(payload) as unknown as Fact;

async function acquire(tx: Transaction, stream: StreamRef, as: As, clockOffMs: number): Promise<Acquired> {
  const { runId, streamId } = stream;
  if (!tx.sees(tx.db.stream(runId, streamId))) return { type: "missing" };
  await tx.lock([streamKey(runId, streamId)]);
  const s = tx.db.stream(runId, streamId);
  if (s === undefined) return { type: "missing" };
  const now = tx.clock() + (tx.db.plants.workerClock ? clockOffMs : 0);
  const mine = s.leaseOwner === as.owner;
  if (s.status === "ended") return { type: "ended" };
  if (s.generation > as.generation) return { type: "newer", generation: s.generation };
  if (s.leaseOwner !== null && !mine && (s.leaseUntil ?? 0) >= now) return { type: "leased" };
  const one = mine ? 0 : 1;
  const next = {
    ...s,
    leaseEpoch: s.leaseEpoch + one,
    attempts: s.attempts + one,
    soloAttempts: s.soloAttempts + (as.solo ? one : 0),
    leaseOwner: as.owner,
    status: "running" as const,
    generation: as.generation,
    leaseUntil: now + as.leaseMs,
    wakeAt: now + as.leaseMs,
  };
  tx.update(next);
  if (streamId === "run" && next.leaseEpoch === 1 && tx.db.run(runId)?.record.phase === "created") {
    await tx.lock([runKey(runId)]);
    tx.write(() => {
      const run = tx.db.run(runId);
      if (run !== undefined) run.record = { ...run.record, phase: "running" };
    });
  }
  const { leaseEpoch: epoch, headSeq: head, sealedSeq, inboxSeq, attempts, soloAttempts, wait } = next;
  const { owner, leaseMs } = as;
  const lease = {
    stream,
    owner,
    epoch,
    head,
    sealedSeq,
    inboxSeq,
    attempts,
    soloAttempts,
    wait,
    now: tx.clock(),
    leaseMs,
  };
  return { type: "acquired", lease, watched: false };
}

async function renew(
  tx: Transaction,
  leases: readonly Lease[],
  leaseMs: number,
  clockOffMs: number,
): Promise<Renewed[]> {
  const rowOf = ({ stream: { runId, streamId }, epoch, owner }: Lease) => {
    const row = tx.db.stream(runId, streamId);
    return row?.leaseEpoch === epoch && row.leaseOwner === owner ? row : undefined;
  };
  const keys = leases.filter(rowOf).map((l) => streamKey(l.stream.runId, l.stream.streamId));
  await tx.lock([...new Set(keys)].sort());
  return leases.map((lease) => {
    const row = rowOf(lease);
    const locked = keys.includes(streamKey(lease.stream.runId, lease.stream.streamId));
    if (row === undefined || !locked) return { held: false, inboxSeq: 0, now: tx.clock(), watched: false };
    tx.update({ ...row, leaseUntil: tx.clock() + leaseMs + (tx.db.plants.workerClock ? clockOffMs : 0) });
    return { held: true, inboxSeq: row.inboxSeq, now: tx.clock(), watched: false };
  });
}

interface Winner {
  readonly status: string;
  readonly fact: Fact | null;
  readonly at: number;
}

async function deliver(connection: Connection, stream: StreamRef, key: string, fact: Fact): Promise<Delivered> {
  const { runId, streamId } = stream;
  const label = `deliver ${key} to ${streamId}`;
  const posted = await repeatable(connection, label, (tx) => deliverStatement(tx, stream, key, fact));
  if (posted.value !== null && posted.value !== "nothing") return { type: "delivered", nudge: posted.value.nudge };
  const winner = await ask(connection, `fact ${key}`, (tx): Winner | null => {
    const row = tx.db.stream(runId, streamId);
    const item = tx.db
      .run(runId)
      ?.inbox.get(streamId)
      ?.find((i) => i.key === key);
    const won = item === undefined ? null : factOf(item.payload);
    return row === undefined ? null : { status: row.status, fact: won, at: item?.recordedAt ?? 0 };
  });
  if (winner === null) return { type: "missing" };
  if (winner.fact === null) return { type: "ended" };
  if (posted.doubtful && canonical(toJson(winner.fact)) === canonical(toJson(fact)))
    return { type: "delivered", nudge: winner.status === "ready" };
  return { type: "duplicate", fact: winner.fact, at: winner.at };
}

async function deliverStatement(
  tx: Transaction,
  { runId, streamId }: StreamRef,
  key: string,
  fact: Fact,
): Promise<{ nudge: boolean } | "nothing"> {
  if (!tx.sees(tx.db.stream(runId, streamId))) return "nothing";
  const there = (): boolean =>
    tx.db
      .run(runId)
      ?.inbox.get(streamId)
      ?.some((i) => i.key === key) ?? false;
  const known = there();
  const drawn = tx.db.plants.serialInbox ? ++tx.db.serial : null;
  await tx.lock([streamKey(runId, streamId)]);
  const s = tx.db.stream(runId, streamId);
  if (s === undefined || s.status === "ended" || known) return "nothing";
  if (there()) throw new UniqueViolation(key);
  const parked = s.status === "parked";
  const seq = drawn ?? s.inboxSeq + 1;
  const woken = parked ? { status: "ready" as const, wakeAt: tx.clock() + GRACE_MS } : {};
  tx.update({ ...s, inboxSeq: Math.max(s.inboxSeq, seq), ...woken });
  post(tx, s, seq, key, stored(fact as unknown as { [key: string]: Json }));
  return { nudge: parked };
}

async function planned(connection: Connection, plan: Plan): Promise<Planned> {
  const { runId } = plan.lease.stream;
  const head = plan.head + plan.events.length;
  const answer = await repeatable(connection, "plan", async (tx) => {
    const done = await planStatement(tx, plan, connection.clockOffMs);
    return { done };
  });
  if (answer.value === null) throw new TorenError("bug", "the plan met a unique key");
  if (answer.value.done !== null) return { type: "ok", head, ...answer.value.done };
  if (!answer.doubtful) return { type: "conflict" };
  return await ask(connection, "plan read back", (tx): Planned => {
    const run = tx.db.run(runId);
    const row = run?.streams.get("run");
    if (run === undefined || row?.leaseEpoch !== plan.lease.epoch || row.headSeq !== head) return { type: "conflict" };
    const bells = new Set(run.inbox.get("run")?.map((i) => i.key));
    const decided = plan.waves.filter((w) => run.waves.get(w.wave)?.signalled && !bells.has(`wave:${w.wave}`));
    return { type: "ok", head, inboxSeq: row.inboxSeq, complete: decided.map((w) => w.wave).sort((a, b) => a - b) };
  });
}

interface Waiting {
  readonly append: Append;
  answer(appended: Appended): void;
  fail(thrown: unknown): void;
}

/** Group commit: what has gathered when a flush begins travels in one statement. */
function createCommitter(connection: Connection): StreamStore["append"] {
  const { db, owner } = connection;
  let waiting: Waiting[] = [];
  let scheduled = false;
  const underWay = new Set<string>();
  const keyOf = ({ lease }: Append): string => `${lease.stream.runId} ${lease.stream.streamId} ${lease.epoch}`;

  const flush = async (): Promise<void> => {
    await db.scheduler.point(owner, "flush");
    scheduled = false;
    const batch = waiting;
    waiting = [];
    try {
      await submit(connection, batch);
    } catch (thrown) {
      for (const item of batch) item.fail(thrown);
    }
  };
  return async (append) => {
    for (const e of append.events) refuseTooLarge(`The event ${e.type}`, e.payload);
    const key = keyOf(append);
    if (underWay.has(key))
      throw new TorenError("bug", `${key}: an append was begun before the one before it was answered`);
    underWay.add(key);
    try {
      return await new Promise<Appended>((answer, fail) => {
        waiting.push({ append, answer, fail });
        if (scheduled) return;
        scheduled = true;
        void flush();
      });
    } finally {
      underWay.delete(key);
    }
  };
}

async function submit(connection: Connection, batch: readonly Waiting[], doubtful = false, resent = 0): Promise<void> {
  if (batch.length === 0) return;
  const label = `append ${batch.map((b) => `${b.append.lease.stream.streamId}@${b.append.head}`).join(" ")}`;
  const appends = batch.map((b) => b.append);
  const answer = await repeatable(connection, label, (tx) => appendStatement(tx, appends, connection.clockOffMs));
  if (answer.value === null) throw new TorenError("bug", `${label} met a unique key`);
  const doubt = doubtful || answer.doubtful;
  const again: Waiting[] = [];
  const unsure: Waiting[] = [];
  for (const [i, written] of answer.value.entries()) {
    const item = batch[i] as Waiting;
    if (written.outcome === "ok") item.answer(ok(item.append, written));
    else if (written.outcome === "budget") item.answer({ type: "budget", spent: written.spent ?? NOTHING });
    else if (written.outcome === "heard") item.answer({ type: "heard", inboxSeq: written.inboxSeq });
    else if (written.outcome === "again") again.push(item);
    else if (doubt) unsure.push(item);
    else item.answer({ type: "conflict" });
  }
  for (const item of unsure) {
    const verdict = await recognise(connection, item.append);
    const { db } = connection;
    if (db.landed.has(item.append))
      db.judged.push(
        verdict === "again" ? verdict : verdict.type === "ok" ? "ok" : `${verdict.type} ${item.append.next.type}`,
      );
    if (verdict === "again") again.push(item);
    else item.answer(verdict);
  }
  if (resent < SETTLE_TRIES) return submit(connection, again, doubt, resent + 1);
  for (const item of again) item.fail(new TorenError("database.unavailable", "moved on too often"));
}

const ok = ({ head, events }: Append, { inboxSeq, status, rang }: Omit<Written, "outcome">): Appended => ({
  type: "ok",
  head: head + events.length,
  inboxSeq,
  status,
  rang,
});

/** Lost acknowledgement: was it mine? Under my epoch nobody else writes, and nobody else lets go of the lease. */
const recognise = (connection: Connection, append: Append): Promise<Appended | "again"> =>
  ask(connection, "append read back", (tx) => {
    const { lease, head, events, next } = append;
    const { runId, streamId } = lease.stream;
    const row = tx.db.stream(runId, streamId);
    if (row === undefined || row.leaseEpoch !== lease.epoch) return { type: "conflict" };
    const letGo = row.leaseOwner === null;
    const landed = row.headSeq === head + events.length && (events.length > 0 || letGo);
    if (!landed) return row.headSeq === head && !letGo ? "again" : { type: "conflict" };
    const wave = row.wave === null ? undefined : tx.db.run(runId)?.waves.get(row.wave);
    const rang = next.type === "end" && (wave?.signalled ?? false);
    const status = letGo ? LETS_GO[next.type] : "running";
    return ok(append, { inboxSeq: row.inboxSeq, status, rang });
  });
const LETS_GO = { run: "running", park: "parked", release: "ready", continue: "ready", end: "ended" } as const;
