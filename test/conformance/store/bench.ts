// What the store's suites do over and over: a run, a lease, an append that must succeed.
import { randomUUID } from "node:crypto";
import type { Json } from "../../../shared/core/json.ts";
import type {
  Acquired,
  Append,
  Appended,
  Lease,
  NewEvent,
  NewRun,
  Next,
  PlannedWave,
  RunRow,
  Store,
  StreamRef,
  StreamRow,
} from "../../../shared/ports/store.ts";
import type { StoreSubject } from "../store.ts";

export const uuid = randomUUID;
export const LEASE_MS = 30_000;
/** Short enough to wait for, long enough for a slow machine to get a few statements done. */
export const SHORT_LEASE_MS = 150;
export const ERROR = { code: "bug", message: "it broke" } as const;

export const event = (type: string, payload: NewEvent["payload"] = {}): NewEvent => ({ type, payload });
export const completed = (output: Json = "done"): Next => ({ type: "end", outcome: { status: "completed", output } });
export const failed: Next = { type: "end", outcome: { status: "failed", error: ERROR } };

type TakeOptions = { owner?: string; generation?: number; leaseMs?: number; solo?: boolean; store?: Store };

/** A stream with its writer; `head` follows the appends. */
export interface Writer {
  readonly lease: Lease;
  head: number;
  append(events: readonly NewEvent[], next?: Next, more?: Partial<Append>): Promise<Appended>;
  /** The same, but it must succeed. */
  write(events: readonly NewEvent[], next?: Next, more?: Partial<Append>): Promise<Appended & { type: "ok" }>;
  plan(...waves: readonly PlannedWave[]): Promise<readonly number[]>;
}

export interface Bench extends StoreSubject {
  run(more?: Partial<NewRun>): Promise<string>;
  stream(runId: string, streamId?: string): StreamRef;
  acquire(stream: StreamRef, options?: TakeOptions): Promise<Acquired>;
  /** The lease must be free. */
  take(stream: StreamRef, options?: TakeOptions): Promise<Writer>;
  row(runId: string): Promise<RunRow>;
  streamRow(stream: StreamRef): Promise<StreamRow>;
  types(stream: StreamRef): Promise<string[]>;
  /** A run whose wave 0 has these tasks; its own stream's writer. */
  planned(
    tasks: number,
    onTaskFailure?: "fail" | "collect",
  ): Promise<{ runId: string; run: Writer; tasks: StreamRef[] }>;
  /** Takes the task and ends it. */
  end(task: StreamRef, next?: Next): Promise<Appended & { type: "ok" }>;
}

export const fresh = (taskId: string, input: Json = taskId) => ({
  taskId,
  role: "worker",
  input,
  digest: `d:${taskId}`,
});
export const wave = (n: number, count: number, more: Partial<PlannedWave> = {}): PlannedWave => ({
  wave: n,
  onTaskFailure: "fail",
  maxParallel: null,
  fresh: Array.from({ length: count }, (_, i) => fresh(`w${n}t${i}`)),
  claimed: [],
  ...more,
});

export function createBench(subject: StoreSubject): Bench {
  const { store, agent } = subject;
  const stream = (runId: string, streamId = "run"): StreamRef => ({ agent, runId, streamId });
  const acquire: Bench["acquire"] = (ref, { store: by = store, ...as } = {}) =>
    by.streams.acquire(ref, { owner: uuid(), generation: 1, leaseMs: LEASE_MS, solo: false, ...as });
  const take: Bench["take"] = async (ref, options = {}) => {
    const got = await acquire(ref, options);
    if (got.type !== "acquired") throw new Error(`${ref.streamId} isn't free: ${got.type}`);
    return writerOf(options.store ?? store, got.lease);
  };
  const run: Bench["run"] = async (more = {}) => {
    const runId = uuid();
    const rest = { input: { q: 1 }, generation: 1, codeHash: "h", idempotencyKey: null, files: [] };
    await store.runs.create({ agent, runId, process: "main", ...rest, ...more });
    return more.runId ?? runId;
  };
  return {
    ...subject,
    run,
    stream,
    acquire,
    take,
    row: async (runId) => defined(await store.runs.get(agent, runId)),
    streamRow: async (ref) =>
      defined((await store.runs.streams(agent, ref.runId)).find((row) => row.streamId === ref.streamId)),
    types: async (ref) => (await store.streams.read(ref, 0)).map((e) => e.type),
    planned: async (tasks, onTaskFailure = "fail") => {
      const runId = await run();
      const writer = await take(stream(runId));
      await writer.plan(wave(0, tasks, { onTaskFailure }));
      return { runId, run: writer, tasks: Array.from({ length: tasks }, (_, i) => stream(runId, `task:w0t${i}`)) };
    },
    end: async (task, next = completed()) => {
      const writer = await take(task);
      return writer.write([terminal(next)], next);
    },
  };
}

/** The event that says what `next` does. */
export function terminal(next: Next): NewEvent {
  if (next.type !== "end") throw new Error("not an end");
  const { outcome } = next;
  if (outcome.status === "completed") return event("TaskCompleted", { result: outcome.output });
  return event(outcome.status === "failed" ? "TaskFailed" : "TaskCancelled", { error: { ...outcome.error } });
}

function writerOf(store: Store, lease: Lease): Writer {
  const writer: Writer = {
    lease,
    head: lease.head,
    append: (events, next = { type: "run" }, more = {}) =>
      store.streams.append({ lease, head: writer.head, events, next, progress: false, ...more }),
    write: async (events, next, more) => {
      const appended = await writer.append(events, next, more);
      if (appended.type !== "ok") throw new Error(`${lease.stream.streamId}: ${appended.type}`);
      writer.head = appended.head;
      return appended;
    },
    plan: async (...waves) => {
      const events = waves.map((w) => event("WavePlanned", { wave: w.wave }));
      const planned = await store.streams.plan({ lease, head: writer.head, events, waves });
      if (planned.type !== "ok") throw new Error(`plan: ${planned.type}`);
      writer.head = planned.head;
      return planned.complete;
    },
  };
  return writer;
}

function defined<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("not found");
  return value;
}
