// One writer of one stream, for as long as its lease lasts (I2). Events gather in a buffer and travel together; what must be durable before an effect
// is flushed before it (I4). At most one append is outstanding, because a writer awaits its own.
import { type ErrorInfo, isOutage, TorenError } from "../core/errors.ts";
import type { InboxItem } from "../core/events.ts";
import { GRACE_MS } from "../core/limits.ts";
import { sealedAway } from "../core/sealing.ts";
import { NOTHING, sum } from "../core/task/ledger.ts";
import type { Appended, Lease, NewEvent, Next, Plan, Planned, Purse, Reopened, Reopening } from "../ports/store.ts";
import type { EngineDeps, Worked } from "./deps.ts";
import { type InboxWatch, watchInbox } from "./inbox-watch.ts";

/** Somebody else has the stream. Its former writer stops without a word: whatever it would say is refused (I12). */
export class LeaseLost extends Error {
  constructor() {
    super("the lease is lost");
    this.name = "LeaseLost";
  }
}

type Ok = Appended & { readonly type: "ok" };
/** An append that was conditional, and of which nothing was written. */
export type Refused = Appended & { readonly type: "budget" | "heard" };
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
  flush(next?: Next): Promise<Ok>;
  /** Writes what is buffered, with this event last; refused, the event is forgotten and the rest stays buffered. @throws as flush. */
  tryFlush(last: Event, next: Next, purse?: Purse): Promise<Ok | Refused>;
  /** Recorded answers that are used again instead of asking; counted with the next flush. */
  replayed(answers: number): void;
  /** Moves in the run's budget that travel with the next flush. */
  pay(purse: Purse): void;
  /** Writes what is buffered with the waves it plans and the children it starts. @throws as flush. */
  plan(waves: Plan["waves"], children: NonNullable<Plan["children"]>): Promise<Planned & { type: "ok" }>;
  /** Writes what is buffered with the tasks and children that go on. @throws as flush. */
  reopen(what: Omit<Reopening, "lease" | "head" | "events">): Promise<Reopened & { type: "ok" }>;
  /** Facts that nobody has absorbed yet, in the order of their commits. The caller buffers an event with `inboxSeq` for each. */
  facts(): Promise<InboxItem[]>;
  /** The next `facts` looks, whatever was heard: the writer has told its own stream something. */
  expect(): void;
  /** Resolves when a fact waits that nobody has absorbed, or the writer is interrupted. */
  heard(): Promise<void>;
  /** Facts absorbed by what was buffered so far: what a park is conditional on (I10). */
  readonly absorbed: number;
  /** Forgets what is buffered. */
  drop(): void;
  close(): void;
}

const storedForm = ({ type, ...payload }: Event): NewEvent => ({ type, payload: payload as NewEvent["payload"] });

/** What is buffered, and how it reaches the log. */
function createOutbox(deps: EngineDeps, lease: Lease, head: number, inbox: InboxWatch) {
  const { streams, retries } = deps.store;
  const buffered: Event[] = [];
  let lost = false;
  let purse: Purse | null = null;
  let replayed = 0;
  const lose = (): void => {
    lost = true;
    inbox.interrupt.abort(); // tools that still run have nobody to report to
  };
  const held = (): void => {
    if (lost) throw new LeaseLost();
  };
  const take = (): NewEvent[] => {
    held();
    return buffered.splice(0).map(storedForm);
  };
  const unlost = <T extends { readonly type: string }>(answer: T): Exclude<T, { readonly type: "conflict" }> => {
    if (answer.type !== "conflict") return answer as Exclude<T, { readonly type: "conflict" }>;
    lose();
    throw new LeaseLost();
  };
  const written = <T extends { readonly head: number; readonly inboxSeq: number }>(answer: T): T => {
    head = answer.head;
    inbox.reached(answer.inboxSeq);
    deps.live.grew(lease.stream.runId);
    return answer;
  };
  return {
    lose,
    held,
    head: () => head,
    size: () => buffered.length,
    push: (event: Event): void => void buffered.push(event),
    pay: (more: Purse): void => {
      const spend = sum(purse?.spend ?? NOTHING, more.spend);
      purse = { hold: more.hold, spend, keep: more.keep || (purse?.keep ?? false) };
    },
    replayed: (answers: number): void => {
      replayed += answers;
    },
    /** As it is now; called, it is so again. */
    mark: (): (() => void) => {
      const [before, paid] = [[...buffered], purse];
      return () => {
        buffered.splice(0, Infinity, ...before);
        purse = paid;
      };
    },
    drop: (): void => {
      buffered.length = 0;
      purse = null;
    },
    append: async (next: Next): Promise<Ok | Refused> => {
      const progress = buffered.some((e) => e.type.endsWith("Completed"));
      const [events, paid] = [take(), purse];
      purse = null;
      if (events.length === 0 && next.type === "run" && paid === null)
        return { type: "ok", head, inboxSeq: inbox.reach, status: "running", rang: false };
      const more = { ...(paid === null ? {} : { purse: paid }), ...(replayed === 0 ? {} : { replayed }) };
      const answer = unlost(await streams.append({ lease, head, events, next, progress, ...more }));
      if (answer.type !== "ok") return answer;
      replayed = 0;
      return written(answer);
    },
    plan: async (waves: Plan["waves"], children: NonNullable<Plan["children"]>) =>
      written(unlost(await streams.plan({ lease, head, events: take(), waves, children }))),
    reopen: async (what: Omit<Reopening, "lease" | "head" | "events">) =>
      written(unlost(await retries.reopen({ lease, head, events: take(), ...what }))),
  };
}

export function createStreamWriter(deps: EngineDeps, lease: Lease, head: number, cursor: number): StreamWriter {
  const inbox = watchInbox(deps.store.streams, lease, cursor);
  const { interrupt } = inbox;
  const outbox = createOutbox(deps, lease, head, inbox);
  const release = deps.keeper.hold({ lease, onInbox: inbox.reached, onLost: outbox.lose });
  return {
    lease,
    interrupt: interrupt.signal,
    get head() {
      return outbox.head();
    },
    get next() {
      return outbox.head() + outbox.size() + 1;
    },
    get absorbed() {
      return inbox.absorbed;
    },
    buffer: (event) => {
      outbox.push(event);
      if (typeof event.inboxSeq === "number") inbox.absorb(event.inboxSeq);
      return outbox.head() + outbox.size();
    },
    flush: async (next = { type: "run" }) => {
      const answer = await outbox.append(next);
      if (answer.type !== "ok") throw new Error(`an append without a condition was refused: ${answer.type}`);
      return answer;
    },
    tryFlush: async (last, next, more) => {
      const restore = outbox.mark();
      outbox.push(last);
      if (more !== undefined) outbox.pay(more);
      const answer = await outbox.append(next);
      if (answer.type === "ok") return answer;
      restore();
      if (answer.type === "heard") inbox.reached(answer.inboxSeq);
      return answer;
    },
    replayed: outbox.replayed,
    pay: outbox.pay,
    plan: outbox.plan,
    reopen: outbox.reopen,
    facts: async () => {
      outbox.held();
      return await inbox.waiting();
    },
    heard: inbox.heard,
    expect: inbox.expect,
    drop: outbox.drop,
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
    // An outage is nobody's death: six of them must not look like a crash loop. Nor is a key that isn't here.
    const keepAttempts = !isOutage(thrown) && sealedAway(thrown) === null;
    await writer.flush({ type: "release", afterMs: GRACE_MS, keepAttempts });
  } catch (again) {
    if (again instanceof LeaseLost) return "lost";
    // the lease runs out by itself
  }
  throw thrown;
}
