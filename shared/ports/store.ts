// Over 300 lines: one port with its words. The log and what stands beside it, as the engine sees them. Twins: adapters/store (Postgres); the simulation's own in test/sim.
// All times are milliseconds since 1970 by the store's clock (I8). Every method may reject with TorenError `database.unavailable`; nothing was
// half-written then, but an append may have landed: `append` finds that out itself (lost acknowledgement) and answers truthfully.
import type { Price } from "../core/cost.ts";
import type { Fact, InboxItem, RawEvent, TaskOutcome } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import type { Header } from "../core/task/header.ts";
import type { Amount, Budget } from "../core/task/ledger.ts";
import type { Snapshot } from "../core/task/snapshot.ts";
import type { Attributes } from "../core/terms.ts";
import type { FreshTask, NewChild, WavePlan } from "../core/workflow/plan.ts";
import type { RunMode } from "./agents.ts";
import type { Actor } from "./audit.ts";

export interface StreamRef {
  readonly agent: string;
  readonly runId: string;
  /** `run`, or `task:<taskId>`. */
  readonly streamId: string;
}

/** The right to write a stream (I2). `epoch` belongs to one in-memory writer; `owner` is a UUID made for one acquisition. */
export interface Lease {
  readonly stream: StreamRef;
  readonly owner: string;
  readonly epoch: number;
  readonly head: number;
  /** Events up to here are history: the stream's state is read from what follows. 0: from all of it. */
  readonly sealedSeq: number;
  readonly inboxSeq: number;
  /** Acquisitions without progress, this one included; `soloAttempts` counts those alone in a worker. */
  readonly attempts: number;
  readonly soloAttempts: number;
  readonly wait: Wait | null;
  /** The store's clock at the acquisition. */
  readonly now: number;
  /** What each append renews it for. */
  readonly leaseMs: number;
}

/** What a parked stream waits for. `cut`, `claim` and `input` have no wake time: only a fact, or a person, ends them. */
export type Wait = "wave" | "timer" | "retry" | "cut" | "claim" | "approval" | "input" | "signal" | "child";

export type Acquired =
  /** `watched`: somebody sees the run's answers come (ports/live.ts). */
  | { readonly type: "acquired"; readonly lease: Lease; readonly watched: boolean }
  | { readonly type: "leased" }
  | { readonly type: "ended" }
  /** A newer generation wrote it (I7). */
  | { readonly type: "newer"; readonly generation: number }
  | { readonly type: "missing" };

export interface NewEvent {
  readonly type: string;
  readonly payload: Readonly<Record<string, Json | undefined>>;
}

/** What becomes of the stream with this append. */
export type Next =
  | { readonly type: "run" }
  /** Only if every fact up to `absorbed` was seen; else the events are written and the lease is kept (I10). `wakeAt` null: a fact must come. */
  | { readonly type: "park"; readonly absorbed: number; readonly wait: Wait; readonly wakeAt: number | null }
  /** Ready for another worker, `afterMs` from now at the earliest for the guardian. Keeps `attempts` if asked to: handing on a crashing stream is no progress. */
  | { readonly type: "release"; readonly afterMs: number; readonly keepAttempts?: boolean }
  /**
   * The last event begins the run anew: what stands before it is sealed. `absorbed`: facts that belong to what is sealed. The stream is ready for another worker;
   * of these tasks and children of the run those that haven't ended are told to stop.
   */
  | {
      readonly type: "continue";
      readonly absorbed: number;
      readonly tasks: readonly string[];
      readonly children: readonly string[];
    }
  /** `absorbed`: only if every fact up to there was seen, else nothing is written and the answer is `heard`. Left out: it ends whatever waits. */
  | { readonly type: "end"; readonly outcome: Outcome; readonly absorbed?: number };

/** How a stream ends; for the run's own stream it becomes the run's status and output. `cancelled` and `failed` carry an error. */
export type Outcome =
  | { readonly status: "completed"; readonly output: Json }
  | { readonly status: "failed" | "cancelled"; readonly error: { code: string; message: string } };

export interface Append {
  readonly lease: Lease;
  readonly head: number;
  readonly events: readonly NewEvent[];
  readonly next: Next;
  /** True when a *Completed event is among them: the crash count starts anew. */
  readonly progress: boolean;
  /** Only where the stream's run has a budget. */
  readonly purse?: Purse;
  /** Recorded answers that its writer, having resumed, uses again instead of asking: counted, not logged. Default: none. */
  readonly replayed?: number;
}

/**
 * What moves in the run's budget with an append. `hold` is what the stream has reserved from here on, in place of what it had; `spend` is added to what
 * is spent. An append that reserves more than there is left is refused whole (`budget`). A stream that ends holds nothing.
 */
export interface Purse {
  readonly hold: Amount;
  readonly spend: Amount;
  /** What it held until now counts as spent: a call that was sent and never answered may have been paid. */
  readonly keep: boolean;
}

export type Appended =
  /** `status`: running after a refused park, else what `next` asked for. `rang`: this append settled a wave, its run wants a tick. */
  | {
      readonly type: "ok";
      readonly head: number;
      readonly inboxSeq: number;
      readonly status: "running" | "parked" | "ready" | "ended";
      readonly rang: boolean;
    }
  /** Another writer has the stream: whoever got this is a zombie and stops without a word (I12). */
  | { readonly type: "conflict" }
  /** Nothing was written: what it reserves doesn't fit beside what is reserved and `spent`, what it would have added included. */
  | { readonly type: "budget"; readonly spent: Amount }
  /** Nothing was written: a fact came that the end was conditional on. */
  | { readonly type: "heard"; readonly inboxSeq: number };

/** What the tick decided (core/workflow/plan.ts). */
export type PlannedWave = WavePlan;
export interface Plan {
  readonly lease: Lease;
  readonly head: number;
  readonly events: readonly NewEvent[];
  readonly waves: readonly PlannedWave[];
  /** Runs that begin with this append, below the stream's own. Their ids are made of the place of their event (core/workflow/child.ts). Default: none. */
  readonly children?: readonly PlannedChild[];
}
export interface PlannedChild extends NewChild {
  readonly mode: RunMode;
  readonly codeHash: string;
  /** How many runs stand above it. */
  readonly depth: number;
}
export type Planned =
  /** `complete`: waves that are decided already: all of their tasks had ended, or under `fail` one had failed. No fact will come for them. */
  | { readonly type: "ok"; readonly head: number; readonly inboxSeq: number; readonly complete: readonly number[] }
  | { readonly type: "conflict" };

export type Delivered =
  /** `nudge`: the stream was parked and is ready now: send its hint. */
  | { readonly type: "delivered"; readonly nudge: boolean }
  /** A fact with this key was there before: who was first, and when. */
  | { readonly type: "duplicate"; readonly fact: Fact; readonly at: number }
  | { readonly type: "ended" }
  | { readonly type: "missing" };

export interface Renewed {
  readonly held: boolean;
  readonly inboxSeq: number;
  readonly now: number;
  readonly watched: boolean;
}

/** Streams: one writer each, fed by appends of its own and facts of others. */
export interface StreamStore {
  /** Takes the lease of a stream that nobody holds. The same `owner` asking again gets the same epoch (a lost acknowledgement). */
  acquire(
    stream: StreamRef,
    as: { owner: string; generation: number; leaseMs: number; solo: boolean },
  ): Promise<Acquired>;
  /**
   * One atomic append (I2). At most one may be outstanding per stream; concurrent ones of many streams share a statement. A task's `end` settles it; the
   * run's own `end` cancels its open tasks and children by a fact, and tells its parent. @throws TorenError `payload.too_large`: nothing is written then.
   */
  append(append: Append): Promise<Appended>;
  /** The tick's append: its events, waves, task streams, claims and children, all or nothing. Not grouped with others. */
  plan(plan: Plan): Promise<Planned>;
  /** Idempotent by key: the first fact under a key wins. Order of `seq` is the order of commits, without a gap. */
  deliver(stream: StreamRef, key: string, fact: Fact): Promise<Delivered>;
  /**
   * Renews leases, in one statement per agent; returns for each whether it is still held, and how far its inbox reaches. A lease of which nothing could be
   * learned (its row is locked, its agent's statement failed) counts as held with an inbox of 0: its next append tells. One locked row, or one broken
   * schema, must not cost a worker its other leases. `watched` as of an acquisition.
   */
  renew(leases: readonly Lease[], leaseMs: number): Promise<readonly Renewed[]>;
  /** The raw log after `after`, in order; at most `limit` events of it if given. Blobs are resolved. */
  read(stream: StreamRef, after: number, limit?: number): Promise<RawEvent[]>;
  readInbox(stream: StreamRef, after: number): Promise<InboxItem[]>;
  /** The store's clock. */
  now(): Promise<number>;
}

export type TaskSpec = FreshTask & {
  /** The run is a session, and this is its conversation. */
  readonly session: boolean;
  /** Which counts it now, and how many of its tasks are worked on at once (null: no bound); null: none does. */
  readonly wave: { readonly number: number; readonly maxParallel: number | null } | null;
  /** What its run may use. */
  readonly budget: Budget;
};
export interface EndedTask {
  readonly taskId: string;
  readonly outcome: TaskOutcome;
}

/** A call that waits, or waited, for a person's decision. */
export interface PendingApproval {
  readonly taskId: string;
  readonly toolUseId: string;
  readonly tool: string;
  readonly args: Json;
  readonly key: string;
  /** `unknownOutcome`: it began, its worker died, and whether it took effect is unknown: it is about running it again. */
  readonly reason: "approval" | "unknownOutcome";
  readonly requestedAt: number;
  readonly expiresAt: number | null;
  readonly decided: {
    readonly granted: boolean;
    readonly by: string;
    readonly comment: string;
    readonly at: number;
  } | null;
}

/** Something that was said in a session. `seq`: of its event in the conversation's stream. */
export interface SaidTurn {
  readonly seq: number;
  readonly by: "user" | "agent";
  readonly text: string;
  readonly at: number;
}
export interface SaidTurns {
  readonly turns: readonly SaidTurn[];
  /** Of all turns, on whatever page. */
  readonly count: number;
}

/** What every request of a task begins with. Model, system, tools, options and maxTokens are what its digest is of. */
export type RequestHeader = Omit<Header, "parts">;

/** What a tick and a task read about tasks. */
export interface TaskStore {
  /**
   * Keeps what a task's requests begin with, so that people can read them: the log holds only its digest. Idempotent by digest: the first one stays.
   * @throws TorenError `payload.too_large`
   */
  keepHeader(agent: string, header: RequestHeader): Promise<void>;
  spec(stream: StreamRef): Promise<TaskSpec | null>;
  /** A session's state as of some event, if one was kept by this version of the fold; a cache: losing it costs time. */
  snapshot(stream: StreamRef): Promise<Snapshot | null>;
  /** Idempotent; an older one never replaces a newer. Nothing is kept of one that is too large. */
  keepSnapshot(stream: StreamRef, snapshot: Snapshot): Promise<void>;
  /** Content of a run's tasks without their inputs, for claims on re-planning: of all but those that were told to stop (a fact `cancel`). */
  digests(agent: string, runId: string): Promise<{ taskId: string; digest: string }[]>;
  /** Outcomes of those of the tasks that have ended, in one query: what their last event says. */
  outcomes(agent: string, runId: string, taskIds: readonly string[]): Promise<EndedTask[]>;
  /** Of these tasks, the completed calls with effects `external` and idempotency `none`, each tool of a task once (I6b). */
  unrepeatable(agent: string, runId: string, taskIds: readonly string[]): Promise<{ taskId: string; tool: string }[]>;
  /** What the recorded answers of these tasks, and of these children and what stands below them, cost together; those that a cut took away don't count. */
  price(agent: string, runId: string, taskIds: readonly string[], children: readonly string[]): Promise<Price>;
  /** Task streams of the run that haven't ended, with what they wait for. */
  open(agent: string, runId: string): Promise<{ taskId: string; wait: Wait | null }[]>;
  /** Approvals that tasks of the run have asked for, oldest first: the decided ones, and those that open tasks wait for. Cut ones are left out. */
  approvals(agent: string, runId: string): Promise<PendingApproval[]>;
  /** What was said in a session, newest first: its answers, and the messages to it. At most `limit` of what stands before the event `before`; null: at the end. */
  turns(agent: string, runId: string, page: { before: number | null; limit: number }): Promise<SaidTurns>;
}

export interface EndedChild {
  readonly runId: string;
  readonly outcome: TaskOutcome;
}
/** A child as its parent's readers see it. */
export interface ChildRow {
  readonly runId: string;
  readonly process: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly spent: Spent;
}

/** Runs that a run's workflow started. */
/** What stands below a run. */
export interface Below {
  readonly runs: number;
  readonly spent: Spent;
  /** How many of them wait for somebody, and which to look at first; null: none. */
  readonly waiting: {
    readonly runs: number;
    readonly runId: string;
    readonly process: string;
    readonly status: RunStatus;
  } | null;
}

export interface ChildStore {
  /** How those ended that have: one that was cancelled has failed. */
  outcomes(agent: string, parent: string, children: readonly string[]): Promise<EndedChild[]>;
  /** Which of these are children of the run: those of the run that a fork was made of aren't the fork's. */
  present(agent: string, parent: string, children: readonly string[]): Promise<string[]>;
  /** Those that a later start may take over: all but the cancelled. */
  claimable(agent: string, parent: string): Promise<string[]>;
  /** As TaskStore.unrepeatable, of all tasks of these runs and of what stands below them; `child`: which of these it was. */
  unrepeatable(agent: string, runs: readonly string[]): Promise<{ child: string; runId: string; tool: string }[]>;
  /** What these runs, and everything below them, have done or begun that takes effect: tools with effects outside, and `step NAME`. */
  effects(agent: string, runs: readonly string[]): Promise<{ runId: string; what: string }[]>;
  /** Those that haven't ended. */
  open(agent: string, parent: string): Promise<string[]>;
  /** The oldest first, `limit` at most; `count`: how many there are. */
  list(agent: string, parent: string, limit: number): Promise<{ children: ChildRow[]; count: number }>;
  /** Everything below a run, in the order in which it began. */
  allBelow(agent: string, runId: string): Promise<string[]>;
  /** How many runs stand below a run, what their model calls came to, and whom they wait for; null: there are none. */
  below(agent: string, runId: string): Promise<Below | null>;
}

export interface RunRow {
  readonly agent: string;
  readonly runId: string;
  readonly process: string;
  readonly mode: RunMode;
  readonly status: RunStatus;
  readonly input: Json;
  readonly output: Json | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly generation: number;
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** Null: it has none. */
  readonly budget: RunBudget | null;
  /** Labels that it was given when it started. */
  readonly attributes: Attributes;
  /** How often it had failed and somebody had it go on. */
  readonly retries: number;
  /** The run whose log its own begins with; that one may be gone. Null: its own is all there is. */
  readonly forkedFrom: string | null;
  /** The run whose workflow started this one; null: it is nobody's child. */
  readonly parent: string | null;
  /** What its own stream was told since it began, or went on anew. */
  readonly facts: number;
}

/** What a run and its children may use, have used, and have set aside for model calls under way: of a child that of the run at the top. */
export interface RunBudget extends Budget {
  readonly spent: Amount;
  readonly reserved: Amount;
}
export type RunStatus =
  | "created"
  | "running"
  | "waitingCut"
  | "waitingApproval"
  | "awaitingInput"
  | "waitingSignal"
  | "waitingTimer"
  | "waitingRetry"
  | "completed"
  | "failed"
  | "cancelled";

/** A run without what went in and came out, which may be large. */
export type RunOutline = Omit<RunRow, "input" | "output" | "budget" | "retries" | "forkedFrom" | "facts">;

/** What a run's model calls came to, cut ones included: each was paid. */
export interface Spent {
  readonly modelCalls: number;
  readonly tokens: number;
  /** Of those whose price is known. */
  readonly nanoUsd: number;
  /** Calls whose price isn't. */
  readonly unpriced: number;
  /** A price in it is made up. */
  readonly simulated: boolean;
}
export type ListedRun = RunOutline & { readonly spent: Spent };

export interface StreamRow {
  readonly streamId: string;
  readonly status: "ready" | "running" | "parked" | "ended";
  /** How it ended; null while it hasn't. */
  readonly outcome: Outcome["status"] | null;
  readonly wait: Wait | null;
  readonly wakeAt: number | null;
  readonly attempts: number;
  readonly role: string | null;
  readonly wave: number | null;
  readonly headSeq: number;
  /** As of a lease. */
  readonly sealedSeq: number;
  /** Of a forked run: events up to here are its source's, and were paid there. */
  readonly copiedSeq: number;
  /** Why its writer last stepped back without writing (cut storm, older code), if it did. */
  readonly problem: { readonly code: string; readonly message: string } | null;
}

export interface NewRun {
  readonly agent: string;
  readonly runId: string;
  readonly process: string;
  /** Default `task`. */
  readonly mode?: RunMode;
  readonly input: Json;
  readonly generation: number;
  readonly codeHash: string;
  readonly idempotencyKey: string | null;
  readonly files: readonly string[];
  /** Default: no bound. Not part of what makes a request under an idempotency key the same: its agent's limits may have been edited. */
  readonly budget?: Budget;
  /** W3C traceparent of the run's first span; left out: nobody traces it. */
  readonly traceContext?: string;
  /** Default: none. */
  readonly attributes?: Attributes;
  /** For the audit; left out: nobody is noted. */
  readonly startedBy?: Actor;
}

/** Which runs a list shows: those that fit all that is given. */
export interface RunFilter {
  readonly agents?: readonly string[];
  readonly statuses?: readonly RunStatus[];
  readonly process?: string;
  /** By their creation, milliseconds since 1970: from `since` on, before `until`. */
  readonly since?: number;
  readonly until?: number;
  /** The beginning of an id, or the beginnings of words of the input, all of them. */
  readonly text?: string;
  /** All of them, each as it is. */
  readonly attributes?: Attributes;
  /** The cursor of the page before. */
  readonly before?: string;
  readonly limit: number;
}

/** Runs: created once, read by people. */
export interface RunStore {
  /** Run row, run stream and RunCreated in one statement. With an idempotency key already used: the run of then, and whether its request was the same. */
  create(
    run: NewRun,
  ): Promise<{ readonly type: "created" | "existing"; readonly runId: string; readonly same: boolean }>;
  /** The run that was created under this idempotency key, and whether its request was the same; null: none was. */
  existing(
    request: Pick<NewRun, "agent" | "process" | "input" | "files" | "attributes">,
    idempotencyKey: string,
  ): Promise<{ readonly runId: string; readonly same: boolean } | null>;
  get(agent: string, runId: string): Promise<RunRow | null>;
  /** The agent that a run belongs to, when only its id is known. */
  agentOf(runId: string): Promise<string | null>;
  /** Newest first, as the runs are now. @throws TorenError `request.invalid` for a cursor that no page gave. */
  list(filter: RunFilter): Promise<{ runs: ListedRun[]; next: string | null }>;
  streams(agent: string, runId: string): Promise<StreamRow[]>;
  /** Events of all streams of a run that concern calls, cuts, the ends of turns and of tasks, without responses and results: enough for usage, cost and the receipt. */
  callEvents(agent: string, runId: string): Promise<{ streamId: string; event: RawEvent }[]>;
  /** Ids of the files attached to a run. */
  files(agent: string, runId: string): Promise<string[]>;
}

/** A failed run goes on from what is recorded: first the run's own stream, then, by its tick, the tasks that failed. */
export interface RetryStore {
  /**
   * The run's stream goes on before its terminal event, and its row is a running run's. `head`: how far its log reached when it was looked at. `caps`: in
   * place of the run's own; null leaves one as it is. False: it isn't failed, is somebody's child, its log moved, or a task of it, or anything of its
   * children, hasn't ended yet.
   */
  retry(run: { agent: string; runId: string }, as: { head: number; by: string; caps: Budget }): Promise<boolean>;
  /**
   * The tick's append after a retry: its events, and the tasks and children that go on, all or nothing. Those that completed, or haven't ended, stay as they are. A
   * wave that counts one of them tells its run again when it is over.
   */
  reopen(append: Reopening): Promise<Reopened>;
}
/** Runs that have ended are forgotten, with all that is theirs. */
export interface EraseStore {
  /**
   * A batch, the oldest first: those of `runIds`, or all that ended longer ago, each with its children; a child by itself never. Never one that goes on, or
   * of which anything is still being stopped. At most `runs`, and no further run once there are `events`. `files`: what was attached to each. `dryRun`: only says which.
   */
  erase(
    agent: string,
    which: { readonly runIds: readonly string[] } | { readonly olderThanMs: number },
    batch: { readonly runs: number; readonly events: number; readonly dryRun: boolean },
  ): Promise<{ runId: string; events: number; files: string[] }[]>;
}

/** What is on record of a run, table by table. */
export interface ExportStore {
  /** The next rows of a table behind a place, some at a time; none: that was all of it. Large values are pointers to parts of `blobs`. */
  rows(
    agent: string,
    runId: string,
    after: { readonly table: string; readonly key: string; readonly number: number },
  ): Promise<{ key: string; number: number; row: Json }[]>;
}

/** A new run that begins with a copy of another one's log. */
export interface ForkStore {
  /**
   * The run, its streams and what stands beside them, in one statement. Idempotency keys in the copy are new ones. With an idempotency key already used:
   * the run of then, and whether its request was the same. Null: the source isn't there any more.
   */
  fork(fork: Fork): Promise<{ type: "created" | "existing"; runId: string; same: boolean } | null>;
  /** Calls with effects outside that began after `after` in these tasks' logs, each tool of a task once; `open`: only those that never ended. */
  externalCalls(
    agent: string,
    runId: string,
    tasks: readonly { taskId: string; after: number; open: boolean }[],
  ): Promise<{ taskId: string; tool: string }[]>;
}
export interface Fork {
  readonly agent: string;
  readonly runId: string;
  readonly source: string;
  readonly generation: number;
  readonly codeHash: string;
  readonly idempotencyKey: string | null;
  /** What makes a request under the key the same. */
  readonly request: Json;
  /** Its own first. `head`: how much of it is copied; 0: a task that begins anew. `outcome` null: it goes on. */
  readonly streams: readonly {
    readonly streamId: string;
    readonly head: number;
    readonly wave: number | null;
    readonly outcome: Outcome["status"] | null;
  }[];
  /** Of its own stream, as of a lease. */
  readonly sealedSeq: number;
  /** What follows in the run's own stream. */
  readonly events: readonly NewEvent[];
  readonly waves: readonly {
    readonly wave: number;
    readonly onTaskFailure: "fail" | "collect";
    readonly unsettled: number;
    readonly maxParallel: number | null;
  }[];
}
export interface Reopening {
  readonly lease: Lease;
  readonly head: number;
  readonly events: readonly NewEvent[];
  readonly tasks: readonly string[];
  /** Children that failed or were cancelled, and go on. */
  readonly children: readonly string[];
  readonly generation: number;
  /** Errors that are a recorded answer, so that its question is asked again. */
  readonly answers: readonly string[];
  readonly by: string;
}
export type Reopened =
  | { readonly type: "ok"; readonly head: number; readonly inboxSeq: number }
  | { readonly type: "conflict" };

/** What nobody's work is: stalled streams, due times, forgotten ones. */
export interface Watch {
  /** Streams whose clock is due, moved on in the same statement. Live leases are only corrected, and not returned. */
  due(
    agent: string,
    limit: number,
    backOffMs: number,
  ): Promise<{ runId: string; streamId: string; role: string | null; attempts: number; soloAttempts: number }[]>;
  /** Parked streams with facts nobody absorbed or without a recorded wait (I10), made ready; a page at a time. */
  audit(
    agent: string,
    after: string | null,
    limit: number,
  ): Promise<{ fixed: { runId: string; streamId: string }[]; next: string | null }>;
  /** Notes why a writer stepped back, and sets when the guardian looks again. Never touches a lease of somebody else. */
  defer(stream: StreamRef, problem: { code: string; message: string }, afterMs: number): Promise<void>;
}

/** What spans of work on a stream are made of. */
export interface StreamTrace {
  /** The traceparent that its run was created with; null: nobody traced it. */
  readonly traceContext: string | null;
  /** Null for the run's own stream. */
  readonly role: string | null;
  /** It has ended, or another writer holds it: whoever comes now finds nothing to do. */
  readonly atRest: boolean;
}

export interface TraceStore {
  /** Null: there is no such stream. A look without a lock: it may be old when the stream is taken. */
  of(stream: StreamRef): Promise<StreamTrace | null>;
}

export interface Store {
  readonly streams: StreamStore;
  readonly tasks: TaskStore;
  readonly runs: RunStore;
  readonly children: ChildStore;
  readonly watch: Watch;
  readonly retries: RetryStore;
  readonly forks: ForkStore;
  readonly exports: ExportStore;
  readonly erasure: EraseStore;
  /** Asked only where an OpenTelemetry SDK listens. */
  readonly traces: TraceStore;
}
