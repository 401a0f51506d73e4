// Over 300 lines: one model of one database. What Postgres does to statements under READ COMMITTED, as far as the store's statements can tell: a snapshot when one begins, row locks that it waits
// for, the newest version of a row once it is locked, no row that was inserted after the snapshot, and all effects at one moment at the end.

import type { Json } from "../../shared/core/json.ts";
import type { Amount } from "../../shared/core/task/ledger.ts";
import type { Snapshot } from "../../shared/core/task/snapshot.ts";
import type { Attributes } from "../../shared/core/terms.ts";
import type { RunMode } from "../../shared/ports/agents.ts";
import type { RunBudget, RunStatus, StreamRow, Wait } from "../../shared/ports/store.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

/** `born`: the commit that inserted the row. Rows are never changed in place: an update puts another one there. */
interface Row {
  readonly born: number;
}
export interface Stream extends Row {
  readonly runId: string;
  readonly streamId: string;
  readonly headSeq: number;
  readonly inboxSeq: number;
  /** Of a run that went on anew: events that are history, and facts that belong to them. */
  readonly sealedSeq: number;
  readonly sealedFacts: number;
  readonly status: StreamRow["status"];
  readonly outcome: StreamRow["outcome"];
  readonly wait: Wait | null;
  readonly absorbed: number;
  readonly wakeAt: number | null;
  readonly leaseOwner: string | null;
  readonly leaseEpoch: number;
  readonly leaseUntil: number | null;
  readonly attempts: number;
  readonly soloAttempts: number;
  readonly generation: number;
  readonly problem: StreamRow["problem"];
  readonly role: string | null;
  readonly wave: number | null;
  /** What it has reserved in its run's budget. */
  readonly hold: Amount;
}
export interface Event extends Row {
  readonly seq: number;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly recordedAt: number;
}
export interface Posted extends Row {
  readonly seq: number;
  readonly key: string;
  readonly payload: Json;
  readonly recordedAt: number;
}
export interface Wave extends Row {
  readonly wave: number;
  readonly onFailure: "fail" | "collect";
  readonly maxParallel: number | null;
  readonly unsettled: number;
  readonly signalled: boolean;
}
export interface Spec extends Row {
  readonly taskId: string;
  readonly role: string;
  readonly input: Json;
  readonly digest: string;
}
export interface RunRecord extends Row {
  readonly runId: string;
  readonly agent: string;
  readonly process: string;
  readonly mode: RunMode;
  readonly input: Json;
  readonly output: Json | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly generation: number;
  readonly idempotencyKey: string | null;
  readonly request: string;
  readonly files: readonly string[];
  readonly ended: "completed" | "failed" | "cancelled" | null;
  /** Of its streams, by what they wait for. */
  readonly waitingCut: number;
  readonly waitingApproval: number;
  readonly waitingInput: number;
  readonly phase: "created" | "running" | "waitingRetry" | "waitingTimer" | "waitingSignal";
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly budget: RunBudget | null;
  readonly traceContext: string | null;
  readonly attributes: Attributes;
  readonly parent: string | null;
  /** At the top of its tree: holds the budget of all. */
  readonly root: string | null;
}
/** Everything of one run. */
export interface Run {
  record: RunRecord;
  readonly streams: Map<string, Stream>;
  readonly snapshots: Map<string, Snapshot>;
  readonly events: Map<string, Event[]>;
  readonly inbox: Map<string, Posted[]>;
  readonly waves: Map<number, Wave>;
  readonly specs: Map<string, Spec>;
}

export function statusOf(r: RunRecord): RunStatus {
  if (r.ended !== null) return r.ended;
  if (r.waitingCut > 0) return "waitingCut";
  if (r.waitingApproval > 0) return "waitingApproval";
  return r.waitingInput > 0 ? "awaitingInput" : r.phase;
}

/** Mistakes that can be planted in the statements, to see that the simulation finds them. */
export interface Plants {
  /** The compare of an append looks at the head alone (I2, I12). */
  readonly noEpoch?: boolean;
  /** A park is written whatever the inbox holds (I10). */
  readonly parkBlindly?: boolean;
  /** Whether a task was its wave's last is decided by the count in the statement's snapshot, not in the locked row. */
  readonly bellBySnapshot?: boolean;
  /** Leases begin and end by the clock of whoever asks (I8). */
  readonly workerClock?: boolean;
  /** Inbox numbers are drawn from a sequence, before the row is locked (I3). */
  readonly serialInbox?: boolean;
  /** Row locks are taken in any order. */
  readonly anyLockOrder?: boolean;
  /** A run that goes on anew leaves what it had begun as it is. */
  readonly nothingStopped?: boolean;
  /** A child that ends doesn't tell its parent. */
  readonly childEndsUnheard?: boolean;
  /** Events are joined to streams, not to the items that moved. */
  readonly joinByStream?: boolean;
}

/** SQLSTATE 23505: the statement is undone. */
export class UniqueViolation extends Error {
  readonly code = "23505";
}
/** SQLSTATE 40P01. The one lock order says that it never comes. */
export class Deadlock extends Error {
  readonly code = "40P01";
}

const LATE_MS = 90_000;

interface Lock {
  holder: Transaction;
  readonly queue: { readonly tx: Transaction; readonly take: () => void }[];
}

export class SimDatabase {
  readonly runs = new Map<string, Run>();
  /** What requests begin with, by agent and digest. */
  readonly headers = new Map<string, Json>();
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly plants: Plants;
  readonly deadlocks: string[] = [];
  /** Share of facts that are held up on their way, perhaps until their sender's lease has run out. */
  late = 0;
  /** Appends that took effect, whatever their writers heard. */
  readonly landed = new WeakSet<object>();
  /** Of those whose writers weren't sure: what they were told, `ok`, or what else. */
  readonly judged: string[] = [];
  /** Looks at what was committed, right after each commit. */
  onCommit: (label: string) => void = () => {};
  commits = 0;
  /** For the planted sequence. */
  serial = 0;
  readonly locks = new Map<string, Lock>();

  constructor(scheduler: Scheduler, random: Random, plants: Plants = {}) {
    this.scheduler = scheduler;
    this.random = random;
    this.plants = plants;
  }

  /** Runs a statement on its own connection: whoever asked for it may be gone before it commits. */
  async statement<T>(label: string, body: (tx: Transaction) => T | Promise<T>): Promise<T> {
    const late = label.startsWith("deliver") && this.random.chance(this.late);
    await this.scheduler.point("db", `${label} begins`, late ? this.random.int(LATE_MS) : 0);
    const tx = new Transaction(this, label);
    try {
      const result = await body(tx);
      if (tx.writes.length > 0) {
        await this.scheduler.point("db", `${label} commits`);
        this.commits++;
        for (const write of tx.writes) write(this.commits);
        this.onCommit(label);
      }
      return result;
    } finally {
      tx.end();
    }
  }

  run(runId: string): Run | undefined {
    return this.runs.get(runId);
  }
  childrenOf(runId: string): Run[] {
    return [...this.runs.values()].filter((run) => run.record.parent === runId);
  }
  /** The run that holds the budget of this one's tree. */
  rootOf(runId: string): Run | undefined {
    return this.runs.get(this.runs.get(runId)?.record.root ?? runId);
  }
  /** The newest version. */
  stream(runId: string, streamId: string): Stream | undefined {
    return this.runs.get(runId)?.streams.get(streamId);
  }
  /** When the next stream is due; Infinity: none ever. */
  nextWake(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const run of this.runs.values())
      for (const s of run.streams.values()) if (s.wakeAt !== null) at = Math.min(at, s.wakeAt);
    return at;
  }
}

export class Transaction {
  readonly db: SimDatabase;
  readonly label: string;
  readonly snapshot: number;
  readonly writes: ((commit: number) => void)[] = [];
  readonly #held: string[] = [];
  waitsFor: string | null = null;

  constructor(db: SimDatabase, label: string) {
    this.db = db;
    this.label = label;
    this.snapshot = db.commits;
  }

  sees(row: Row | undefined): boolean {
    return row !== undefined && row.born <= this.snapshot;
  }
  clock(): number {
    return this.db.scheduler.now;
  }
  /** Happens with the commit; gets its number. */
  write(effect: (commit: number) => void): void {
    this.writes.push(effect);
  }
  update(stream: Stream): void {
    this.write(() => this.db.run(stream.runId)?.streams.set(stream.streamId, stream));
  }

  /** Row locks, one after the other. */
  async lock(keys: readonly string[]): Promise<void> {
    for (const [i, key] of keys.entries()) {
      if (i > 0) await this.db.scheduler.point("db", `${this.label} locks ${key}`);
      await this.#take(key);
    }
  }

  /** FOR UPDATE SKIP LOCKED: false, and nothing else, for a row that somebody holds. */
  tryLock(key: string): boolean {
    if (this.db.locks.has(key)) return false;
    this.#hold(key);
    return true;
  }

  end(): void {
    for (const key of this.#held.splice(0)) {
      const lock = this.db.locks.get(key);
      const next = lock?.queue.shift();
      if (lock === undefined || next === undefined) this.db.locks.delete(key);
      else {
        lock.holder = next.tx;
        next.take();
      }
    }
  }

  async #take(key: string): Promise<void> {
    const lock = this.db.locks.get(key);
    if (lock?.holder === this) return;
    if (lock === undefined) return this.#hold(key);
    this.waitsFor = key;
    this.#refuseCycle(lock);
    await new Promise<void>((take) => lock.queue.push({ tx: this, take }));
    this.waitsFor = null;
    this.#held.push(key);
  }

  #hold(key: string): void {
    this.db.locks.set(key, { holder: this, queue: [] });
    this.#held.push(key);
  }

  #refuseCycle(first: Lock): void {
    for (let lock: Lock | undefined = first; lock !== undefined; ) {
      const { holder }: Lock = lock;
      if (holder === this) {
        const text = `deadlock: ${this.label} waits for ${this.waitsFor}`;
        this.db.deadlocks.push(text);
        throw new Deadlock(text);
      }
      lock = holder.waitsFor === null ? undefined : this.db.locks.get(holder.waitsFor);
    }
  }
}

export const streamKey = (runId: string, streamId: string): string => `${runId} ${streamId}`;
export const runKey = (runId: string): string => `runs ${runId}`;
