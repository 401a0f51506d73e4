// Streams: leases, appends, facts, and reading back.

import { CONTENT_OF_ERROR } from "../../core/content.ts";
import type { Fact, InboxItem, RawEvent } from "../../core/events.ts";
import type { Json } from "../../core/json.ts";
import { READ_PAGE_ROWS } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { DataKey } from "../../ports/sealer.ts";
import type { Acquired, Append, Lease, Renewed, StreamRef, StreamStore, Wait } from "../../ports/store.ts";
import { createAppender } from "./append-batch.ts";
import { restoreAll, writeBlobs } from "./blobs.ts";
import { type Committer, createCommitter, type Item } from "./committer.ts";
import { createDeliver } from "./deliver.ts";
import { createPlanner } from "./plan.ts";
import { openAndRead } from "./seals.ts";
import type { Statements } from "./statements.ts";
import { type Blob, storedContent, storedEvent, storedObject } from "./values.ts";

export function createStreams(database: Pick<Database, "appends">, statements: Statements): StreamStore {
  const committers = new Map<string, Committer>();
  const { seals } = statements;
  const committerOf = (agent: string): Committer => {
    const known = committers.get(agent) ?? createCommitter(createAppender(database.appends, agent));
    committers.set(agent, known);
    return known;
  };

  return {
    acquire: async (stream, as) => {
      const values = [stream.runId, stream.streamId, as.owner, as.leaseMs, as.generation, as.solo];
      const [row] = await statements.change<AcquireRow>("acquire", stream.agent, values);
      return acquired(stream, as, row);
    },
    append: async (append) => {
      const { agent, runId } = append.lease.stream;
      // A run that only renews, parks or releases says nothing that could be sealed.
      const says = append.events.length > 0 || append.next.type === "end";
      const key = says && seals.sealer.on ? await seals.toWrite(agent, runId) : null;
      const { item, blobs } = prepared(append, key);
      if (blobs.length > 0) await writeBlobs(statements, agent, runId, blobs);
      return committerOf(agent).commit(item);
    },
    plan: createPlanner(database.appends, statements),
    deliver: createDeliver(database.appends, statements),
    renew: (leases, leaseMs) => renew(statements, leases, leaseMs),
    read: (stream, after, limit = Infinity) => readEvents(statements, stream, after, limit),
    readInbox: (stream, after) => readInbox(statements, stream, after),
    now: async () => (await statements.ask<{ now: number }>("clock", null, []))[0]?.now ?? Number.NaN,
  };
}

interface AcquireRow {
  readonly status: string;
  readonly generation: number;
  readonly epoch: number | null;
  readonly head_seq: number;
  readonly sealed_seq: number;
  readonly inbox_seq: number;
  readonly attempts: number;
  readonly solo_attempts: number;
  readonly wait: Wait | null;
  readonly watched: boolean;
  readonly now: number;
}

function acquired(
  stream: StreamRef,
  as: { owner: string; generation: number; leaseMs: number },
  row: AcquireRow | undefined,
): Acquired {
  if (row === undefined) return { type: "missing" };
  if (row.epoch !== null) {
    const { epoch, wait, now, attempts } = row;
    const { head_seq: head, sealed_seq: sealedSeq, inbox_seq: inboxSeq, solo_attempts: soloAttempts } = row;
    const reach = { head, sealedSeq, inboxSeq, attempts, soloAttempts };
    const lease: Lease = { stream, owner: as.owner, epoch, ...reach, wait, now, leaseMs: as.leaseMs };
    return { type: "acquired", lease, watched: row.watched };
  }
  if (row.status === "ended") return { type: "ended" };
  if (row.generation > as.generation) return { type: "newer", generation: row.generation };
  return { type: "leased" };
}

/** An append's stored form. @throws TorenError `payload.too_large`, before anything is written. */
function prepared(
  append: Append,
  key: DataKey | null,
): { item: Omit<Item, "resolve" | "reject">; blobs: readonly Blob[] } {
  const { stream } = append.lease;
  const events = append.events.map((e) => ({ type: e.type, ...storedEvent(e, key) }));
  const outcome = append.next.type === "end" && stream.streamId === "run" ? append.next.outcome : null;
  const output =
    outcome?.status === "completed" ? storedContent("The run's output", outcome.output, "output", key) : null;
  const error = outcome === null || outcome.status === "completed" ? null : storedError(outcome.error, key);
  const parts = [...events, ...(output === null ? [] : [output]), ...(error === null ? [] : [error])];
  const item = {
    append,
    streamKey: `${stream.runId}/${stream.streamId}`,
    events,
    output: output?.text ?? null,
    error: error?.text ?? null,
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
  };
  return { item, blobs: parts.flatMap((part) => part.blobs) };
}

const storedError = (error: { code: string; message: string }, key: DataKey | null) =>
  storedObject("The run's error", error, undefined, key === null ? null : { key, paths: CONTENT_OF_ERROR });

async function renew(statements: Statements, leases: readonly Lease[], leaseMs: number): Promise<Renewed[]> {
  const agents = [...Map.groupBy(leases, (lease) => lease.stream.agent)];
  const settled = await Promise.allSettled(agents.map(([agent, some]) => renewOf(statements, agent, some, leaseMs)));
  const failure = settled.find((s) => s.status === "rejected");
  if (failure !== undefined && settled.every((s) => s.status === "rejected")) throw failure.reason;
  const answers = new Map(settled.flatMap((s) => (s.status === "fulfilled" ? s.value : [])));
  return leases.map((lease) => answers.get(lease) ?? { held: true, inboxSeq: 0, now: lease.now, watched: false });
}

async function renewOf(
  statements: Statements,
  agent: string,
  leases: readonly Lease[],
  leaseMs: number,
): Promise<[Lease, Renewed][]> {
  const values = [
    leases.map((_, ord) => ord),
    leases.map((l) => l.stream.runId),
    leases.map((l) => l.stream.streamId),
    leases.map((l) => l.epoch),
    leases.map((l) => l.owner),
    leaseMs,
  ];
  const rows = await statements.change<RenewRow>("renew", agent, values);
  return rows.flatMap(({ ord, mine, inbox_seq, now, watched }): [Lease, Renewed][] => {
    const lease = leases[ord];
    return lease === undefined ? [] : [[lease, { held: mine, inboxSeq: inbox_seq ?? 0, now, watched }]];
  });
}

interface RenewRow {
  readonly ord: number;
  readonly inbox_seq: number | null;
  readonly mine: boolean;
  readonly watched: boolean;
  readonly now: number;
}

async function readEvents(
  statements: Statements,
  stream: StreamRef,
  after: number,
  limit: number,
): Promise<RawEvent[]> {
  const events: RawEvent[] = [];
  for (let from = after; events.length < limit; ) {
    const page = Math.min(limit - events.length, READ_PAGE_ROWS);
    const rows = await statements.ask<EventRow>("read-events", stream.agent, [
      stream.runId,
      stream.streamId,
      from,
      page,
    ]);
    const payloads = await restoreAll(
      statements,
      stream.agent,
      rows.map((row) => ({ runId: stream.runId, value: row.payload })),
    );
    for (const [i, row] of rows.entries())
      events.push({
        seq: row.seq,
        type: row.type,
        payload: payloads[i] as RawEvent["payload"],
        recordedAt: row.recorded_at,
      });
    const last = rows.at(-1);
    if (last === undefined || rows.length < page) break;
    from = last.seq;
  }
  return events;
}

interface EventRow {
  readonly seq: number;
  readonly type: string;
  readonly payload: Json;
  readonly recorded_at: number;
}

async function readInbox(statements: Statements, stream: StreamRef, after: number): Promise<InboxItem[]> {
  const items: InboxItem[] = [];
  for (let from = after; ; ) {
    const values = [stream.runId, stream.streamId, from, READ_PAGE_ROWS];
    const rows = await statements.ask<{ seq: number; key: string; payload: Json }>("read-inbox", stream.agent, values);
    const sealedRows = rows.map((row) => ({ runId: stream.runId, value: row.payload }));
    const facts = await openAndRead(statements.seals, stream.agent, sealedRows);
    for (const [i, row] of rows.entries())
      items.push({ seq: row.seq, key: row.key, fact: facts[i] as unknown as Fact });
    const last = rows.at(-1);
    if (last === undefined || rows.length < READ_PAGE_ROWS) return items;
    from = last.seq;
  }
}
