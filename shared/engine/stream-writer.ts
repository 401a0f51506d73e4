// One writer of one stream, for as long as its lease lasts (I2). Events gather in a buffer and travel together; what must be durable before an effect
// is flushed before it (I4). At most one append is outstanding, because a writer awaits its own.
import { type ErrorInfo, TorenError } from "../core/errors.ts";
import type { InboxItem } from "../core/events.ts";
import { GRACE_MS } from "../core/limits.ts";
import type { Appended, Lease, NewEvent, Next, Plan, Planned } from "../ports/store.ts";
import type { EngineDeps, Worked } from "./deps.ts";

/** Somebody else has the stream. Its former writer stops without a word: whatever it would say is refused (I12). */
export class LeaseLost extends Error {
  constructor() {
    super("the lease is lost");
    this.name = "LeaseLost";
  }
}

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface StreamWriter {
  readonly lease: Lease;
  /** Sequence number of the last event on record, and of the last one buffered. */
  readonly head: number;
  readonly next: number;
  /** Aborts when the lease is lost, a cancel waits in the inbox, or the writer is closed: work under way has nobody to report to. */
  readonly interrupt: AbortSignal;
  /** The event will be written by the next flush, with this sequence number. */
  buffer(event: Event): number;
  /** Writes what is buffered. @throws LeaseLost, TorenError `database.unavailable`. */
  flush(next?: Next): Promise<Appended & { type: "ok" }>;
  /** Writes what is buffered with the waves it plans. @throws as flush. */
  plan(waves: Plan["waves"]): Promise<Planned & { type: "ok" }>;
  /** Facts that nobody has absorbed yet, in the order of their commits. The caller buffers an event with `inboxSeq` for each. */
  facts(): Promise<InboxItem[]>;
  /** Resolves when a fact waits that nobody has absorbed, or the writer is interrupted. */
  heard(): Promise<void>;
  /** Facts absorbed by what was buffered so far: what a park is conditional on (I10). */
  readonly absorbed: number;
  /** Forgets what is buffered. */
  drop(): void;
  close(): void;
}

export function createStreamWriter(deps: EngineDeps, lease: Lease, head: number, cursor: number): StreamWriter {
  const { streams } = deps.store;
  let buffered: Event[] = [];
  let absorbed = cursor;
  let inboxSeq = lease.inboxSeq;
  let lost = false;
  let peeked = cursor;
  const interrupt = new AbortController();
  let wake: () => void = () => {};

  /** Facts may wait until the writer asks for them, but for a cancel: that one is looked for at once. */
  const heard = (reach: number): void => {
    inboxSeq = Math.max(inboxSeq, reach);
    if (inboxSeq > absorbed) wake();
    if (inboxSeq <= Math.max(absorbed, peeked)) return;
    const from = Math.max(absorbed, peeked);
    peeked = inboxSeq;
    streams.readInbox(lease.stream, from).then(
      (items) => items.some((item) => item.fact.kind === "cancel") && interrupt.abort(),
      () => {
        peeked = Math.min(peeked, from); // looked at again with the next beat: a call that hangs comes to no next step
      },
    );
  };
  const release = deps.keeper.hold({
    lease,
    onInbox: heard,
    onLost: () => {
      lost = true;
      interrupt.abort();
    },
  });
  const take = (): NewEvent[] => {
    if (lost) throw new LeaseLost();
    const events = buffered.map(({ type, ...payload }) => ({ type, payload: payload as NewEvent["payload"] }));
    buffered = [];
    return events;
  };

  return {
    lease,
    get head() {
      return head;
    },
    get next() {
      return head + buffered.length + 1;
    },
    get absorbed() {
      return absorbed;
    },
    get interrupt() {
      return interrupt.signal;
    },
    buffer: (event) => {
      buffered.push(event);
      if (typeof event.inboxSeq === "number") absorbed = Math.max(absorbed, event.inboxSeq);
      return head + buffered.length;
    },
    flush: async (next = { type: "run" }) => {
      const progress = buffered.some((e) => e.type.endsWith("Completed"));
      const events = take();
      if (events.length === 0 && next.type === "run")
        return { type: "ok", head, inboxSeq, status: "running", rang: false };
      const appended = await streams.append({ lease, head, events, next, progress });
      if (appended.type === "conflict") throw new LeaseLost();
      head = appended.head;
      heard(appended.inboxSeq);
      return appended;
    },
    plan: async (waves) => {
      const planned = await streams.plan({ lease, head, events: take(), waves });
      if (planned.type === "conflict") throw new LeaseLost();
      head = planned.head;
      heard(planned.inboxSeq);
      return planned;
    },
    facts: async () => {
      if (lost) throw new LeaseLost();
      if (inboxSeq <= absorbed) return [];
      return await streams.readInbox(lease.stream, absorbed);
    },
    heard: () =>
      new Promise((resolve) => {
        wake = resolve;
        interrupt.signal.addEventListener("abort", () => resolve(), { once: true });
        if (inboxSeq > absorbed || interrupt.signal.aborted) resolve();
      }),
    drop: () => {
      buffered = [];
    },
    close: () => {
      release();
      interrupt.abort();
    },
  };
}

/**
 * What becomes of a stream whose writer can't go on. A lost lease is nobody's fault; a value that can't be recorded ends the stream with that reason
 * (trying again would give the same); anything else lets go of the stream at once, uncounted as progress, and reaches the handler, which retries.
 */
export async function giveUp(
  thrown: unknown,
  writer: StreamWriter,
  end: (error: ErrorInfo) => Promise<Worked>,
): Promise<Worked> {
  if (thrown instanceof LeaseLost) return "lost";
  try {
    writer.drop();
    if (thrown instanceof TorenError && thrown.code === "payload.too_large") return await end(thrown.info);
    await writer.flush({ type: "release", afterMs: GRACE_MS, keepAttempts: true });
  } catch (again) {
    if (again instanceof LeaseLost) return "lost";
    // the lease runs out by itself
  }
  throw thrown;
}
