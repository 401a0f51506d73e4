// Over 300 lines: one vocabulary. The log's vocabulary. Every event is past tense and strict; what isn't listed here is of a newer version, and its stream is left alone (I7).
// The envelope (run, stream, seq, time) is kept apart from the payload. `inboxSeq` marks an event that absorbs a fact (I3).
import * as z from "zod";
import { ERRORS, type ErrorCode } from "./errors.ts";
import { json, mediaPart, modelResponse, usage } from "./messages.ts";

const seq = z.int().positive();
const error = z.strictObject({
  code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  message: z.string().min(1),
});
const cost = z.strictObject({ usd: z.number().nonnegative(), simulated: z.boolean() });
export const effects = z.enum(["external", "sandbox", "none"]);
export const idempotency = z.enum(["keyed", "none"]);
export type Effects = z.infer<typeof effects>;
export type Idempotency = z.infer<typeof idempotency>;
/** Nobody can do it twice and mean it once (I6b). */
export const isUnrepeatable = (call: { readonly effects: Effects; readonly idempotency: Idempotency }): boolean =>
  call.effects === "external" && call.idempotency === "none";

/** Events that both kinds of stream can hold. */
const shared = [
  z.strictObject({ type: z.literal("FactIgnored"), inboxSeq: seq, reason: z.string() }),
  /**
   * Cuts `fromSeq` and everything after it, but for facts from outside (I6). `retry`: somebody had a failed run go on. The stream had ended; what ended it
   * is cut, and so are the tries of a question that nobody answered. Cancels up to the inbox number `upTo` were about the attempt before. `fork`: what
   * stands before it is a copy of that run's log.
   */
  z.strictObject({
    type: z.literal("StreamInvalidated"),
    fromSeq: seq,
    reason: z.string(),
    generation: z.int(),
    retry: z.strictObject({ by: z.string(), upTo: z.int().nonnegative() }).optional(),
    fork: z.string().optional(),
  }),
  /**
   * What would silently repeat an effect: not done, the stream waits for a decision (I6b). `calls` names what would be repeated; `price` is what the
   * answers on record cost that would be asked for anew. In a run's stream `instead` says what today's code would plan, and what `keep` makes of it.
   */
  z.strictObject({
    type: z.literal("CutRequested"),
    fromSeq: seq,
    reason: z.string(),
    generation: z.int(),
    calls: z.array(z.string()),
    price: z.strictObject({
      modelCalls: z.int().nonnegative(),
      usd: z.number().nonnegative().nullable(),
      simulated: z.boolean(),
    }),
    instead: z
      .strictObject({
        /** Whose calls would be repeated. */
        tasks: z.array(z.string()),
        /** Of all that would be planned, whole: a decision is about this plan and no other. */
        digest: z.string(),
        /** Recorded tasks that would answer for new ones, the first of them, with what both are about; `standing`: how many there are. */
        stands: z.array(z.strictObject({ task: z.string(), was: z.string(), now: z.string() })),
        standing: z.int().nonnegative(),
        /** What would be new all the same, the first of it; `anew`: how much there is. */
        fresh: z.array(z.string()),
        anew: z.int().nonnegative(),
      })
      .optional(),
  }),
  /** `keep`: of a task, seals what is recorded, as a turn of a session is sealed; of a run, recorded tasks answer for new ones. `rerun` lets it be done. */
  z.strictObject({
    type: z.literal("CutDecided"),
    decision: z.enum(["rerun", "keep"]),
    by: z.string(),
    inboxSeq: seq,
  }),
] as const;

export const taskEvent = z.discriminatedUnion("type", [
  ...shared,
  /** A writer took the stream and goes on live. `parts` are digests of what the request's header is made of, so that a cut can name what changed. */
  z.strictObject({
    type: z.literal("TaskStarted"),
    attempt: z.int().positive(),
    specDigest: z.string(),
    parts: z.record(z.string(), z.string()),
  }),
  /**
   * A question is about to be sent. `summary`: one about the conversation itself, for its compaction. `reserve`: what was set aside for it where a budget
   * is set, input estimated high and the whole of maxTokens; `usd` only where dollars are capped.
   */
  z.strictObject({
    type: z.literal("LlmCallStarted"),
    stepId: z.string(),
    requestDigest: z.string(),
    model: z.string(),
    purpose: z.enum(["step", "summary"]),
    reserve: z.strictObject({ tokens: z.int().nonnegative(), usd: z.number().nonnegative().optional() }).optional(),
  }),
  /**
   * `usage` and `cost` stand beside the response so that they stay readable when the response is a blob. `cost` is by the prices of the moment, in US
   * dollars; left out: the model's price is unknown.
   */
  z.strictObject({
    type: z.literal("LlmCallCompleted"),
    stepId: z.string(),
    response: modelResponse.omit({ usage: true }),
    usage,
    cost: cost.optional(),
  }),
  /** The provider has named a call that can be fetched later: a worker that takes over fetches it, and doesn't send it again. */
  z.strictObject({ type: z.literal("LlmCallAccepted"), stepId: z.string(), ref: z.string().min(1) }),
  /**
   * `retryAt`: the task parks until then and asks again (milliseconds since 1970, by the database's clock). `goesOn`: the provider couldn't be asked for an
   * answer that it still makes, or keeps: the call is not over, and the next try fetches it. `usage`: what the provider had counted before it failed, and may
   * charge for; `cost` as of an answer.
   */
  z.strictObject({
    type: z.literal("LlmCallFailed"),
    stepId: z.string(),
    error,
    retryAt: z.int().optional(),
    goesOn: z.literal(true).optional(),
    usage: usage.optional(),
    cost: cost.optional(),
  }),
  /** A second one for a call, under the same key: its worker had died, and somebody decided that it begins again. */
  z.strictObject({
    type: z.literal("ToolCallStarted"),
    stepId: z.string(),
    toolUseId: z.string(),
    tool: z.string(),
    args: json,
    idempotencyKey: z.string(),
    effects,
    idempotency,
  }),
  /** Without a ToolCallStarted before it, it is the answer to a call that was never run (bad arguments, unknown tool, cut at max tokens). */
  z.strictObject({
    type: z.literal("ToolCallCompleted"),
    stepId: z.string(),
    toolUseId: z.string(),
    result: json,
    isError: z.boolean(),
    /** Files that the tool showed to the model. */
    media: z.array(mediaPart).optional(),
  }),
  /** From here on requests hold a short text in place of these results; the log keeps them whole. */
  z.strictObject({ type: z.literal("ToolResultsElided"), toolUseIds: z.array(z.string()).min(1) }),
  /** From here on requests begin with this summary in place of the first `folded` messages of the conversation. */
  z.strictObject({ type: z.literal("ContextCompacted"), folded: z.int().positive(), summary: z.string().min(1) }),
  /**
   * A call waits for a person. `key` binds the decision to tool, arguments and how-manieth such call it is; `expiresAt`: denied by then. With the reason
   * `unknownOutcome` it has begun already, and its worker died: whether it is to begin again.
   */
  z.strictObject({
    type: z.literal("ApprovalRequested"),
    stepId: z.string(),
    toolUseId: z.string(),
    tool: z.string(),
    args: json,
    key: z.string(),
    expiresAt: z.int().optional(),
    reason: z.literal("unknownOutcome").optional(),
  }),
  z.strictObject({
    type: z.literal("ApprovalResolved"),
    key: z.string(),
    granted: z.boolean(),
    by: z.string(),
    comment: z.string(),
    inboxSeq: seq,
  }),
  /** A session's turn is over: everything up to here was shown to a person, and is sealed (I6a). */
  z.strictObject({ type: z.literal("InputRequested"), text: z.string() }),
  /** `close`: the session ends with this message's answer; with an empty text at once. */
  z.strictObject({
    type: z.literal("UserMessage"),
    text: z.string(),
    close: z.boolean().optional(),
    steer: z.boolean().optional(),
    inboxSeq: seq,
  }),
  z.strictObject({ type: z.literal("TaskCompleted"), result: json, truncated: z.boolean().optional() }),
  z.strictObject({ type: z.literal("TaskFailed"), error }),
  z.strictObject({ type: z.literal("TaskCancelled"), inboxSeq: seq, error }),
]);
export type TaskEvent = z.infer<typeof taskEvent>;

/** How a task ended, as its workflow sees it. */
const taskOutcome = z.discriminatedUnion("status", [
  z.strictObject({ status: z.literal("completed"), output: json }),
  z.strictObject({ status: z.literal("failed"), error }),
]);
export type TaskOutcome = z.infer<typeof taskOutcome>;

/** What every operation of a workflow records: the window it was issued in (`after`: the seq of the operation that opened it) and what it asked for. */
const operation = { after: z.int().nonnegative(), digest: z.string() };

export const runEvent = z.discriminatedUnion("type", [
  ...shared,
  /** `parent`: the run whose workflow started this one, and how many runs stand above it. */
  z.strictObject({
    type: z.literal("RunCreated"),
    process: z.string(),
    input: json,
    parent: z.strictObject({ run: z.string(), depth: z.int().positive() }).optional(),
  }),
  /** `tasks` are ids in the plan's order, new and claimed; what they are stands in task_specs. */
  z.strictObject({
    type: z.literal("WavePlanned"),
    ...operation,
    name: z.string(),
    wave: z.int().nonnegative(),
    tasks: z.array(z.string()),
    onTaskFailure: z.enum(["fail", "collect"]),
    dueAt: z.int().optional(),
    maxParallel: z.int().positive().optional(),
  }),
  z.strictObject({ type: z.literal("TaskSettled"), op: seq, task: z.int().nonnegative(), outcome: taskOutcome }),
  z.strictObject({ type: z.literal("WaveSettled"), op: seq, inboxSeq: seq.optional() }),
  z.strictObject({
    type: z.literal("TimerSet"),
    ...operation,
    ms: z.number().optional(),
    until: z.number().optional(),
    dueAt: z.number(),
  }),
  /** `dueAt`: what is awaited has come by then, or the wait is over. */
  z.strictObject({ type: z.literal("SignalAwaited"), ...operation, signal: z.string(), dueAt: z.int().optional() }),
  /** Goes to whoever has waited for it the longest; else it is kept, for whoever waits for it next. */
  z.strictObject({ type: z.literal("SignalReceived"), signal: z.string(), value: json, inboxSeq: seq }),
  /** The operation's time has come: a timer, or the time-out of a wave or of a wait for a signal. */
  z.strictObject({ type: z.literal("TimerFired"), op: seq }),
  z.strictObject({ type: z.literal("StepStarted"), ...operation, name: z.string(), idempotencyKey: z.string() }),
  z.strictObject({ type: z.literal("StepCompleted"), op: seq, value: json }),
  z.strictObject({ type: z.literal("StepFailed"), op: seq, error, retryAt: z.int().optional() }),
  /** `run`: the child's id; a child of a cut part of the log that was asked the same may be taken over. */
  z.strictObject({
    type: z.literal("ChildStarted"),
    ...operation,
    process: z.string(),
    input: json,
    run: z.string(),
  }),
  /** A child that was cancelled has failed, with `run.cancelled`. */
  z.strictObject({ type: z.literal("ChildEnded"), op: seq, outcome: taskOutcome, inboxSeq: seq.optional() }),
  /**
   * After a retry: what failed of the operation is done again. Its end, what failed of it (of a wave the tasks at these places), and whatever the workflow
   * asked for because of it count no more. `dueAt`: its new time limit. `run`: of a child that belongs to the run that this one is a fork of, the child
   * that is started in its place. `fork`: the place that a fork begins from; what came of it isn't taken over either.
   */
  z.strictObject({
    type: z.literal("OperationReopened"),
    op: seq,
    tasks: z.array(z.int().nonnegative()),
    dueAt: z.int().optional(),
    run: z.string().optional(),
    fork: z.literal(true).optional(),
  }),
  z.strictObject({ type: z.literal("NowRead"), ...operation, value: z.number() }),
  /**
   * Tasks of cut plans, and children by their run's id: somebody decided that this generation may do again what they did. It asks about them no more;
   * another edit does, and a plan may still claim them.
   */
  z.strictObject({ type: z.literal("TasksGivenUp"), tasks: z.array(z.string()).min(1), generation: z.int() }),
  z.strictObject({ type: z.literal("RandomRead"), ...operation, value: z.number() }),
  /**
   * The workflow asked to go on anew (ctx.continueAsNew): what stands before is sealed, nobody executes it again, and whoever wants to know the run's state
   * reads from here. `part` counts them, from 1. `process` and `parent` as RunCreated has them. `nextWave`: exceeds every wave before. `absorbed`: facts that
   * were absorbed before. `signals`: those that had come and that nobody had received, in the order in which they came. `idle`: how many in a row, this one
   * included, waited for nothing.
   */
  z.strictObject({
    type: z.literal("RunContinued"),
    process: z.string(),
    input: json,
    parent: z.strictObject({ run: z.string(), depth: z.int().positive() }).optional(),
    part: z.int().positive(),
    nextWave: z.int().nonnegative(),
    absorbed: z.int().nonnegative(),
    signals: z.array(z.strictObject({ signal: z.string(), value: json, inboxSeq: seq })),
    idle: z.int().nonnegative(),
  }),
  z.strictObject({ type: z.literal("RunCompleted"), output: json }),
  z.strictObject({ type: z.literal("RunFailed"), error }),
  z.strictObject({ type: z.literal("RunCancelled"), inboxSeq: seq, error }),
]);
export type RunEvent = z.infer<typeof runEvent>;

/** An event at its place in a stream. */
export type Recorded<E> = E & { readonly seq: number; readonly recordedAt: number };

/** An event as the store holds it, before anyone knows whether this version understands it. */
export interface RawEvent {
  readonly seq: number;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970 by the database's clock. */
  readonly recordedAt: number;
}

/** Facts: what whoever isn't a stream's writer tells it, through its inbox. */
export const fact = z.discriminatedUnion("kind", [
  /** To a run: wave `wave` is over; `broke`: a task failed under `fail`, others may still run. */
  z.strictObject({ kind: z.literal("wave"), wave: z.int(), broke: z.boolean() }),
  /** To a run: its child `run` has ended; how stands in the child's row. */
  z.strictObject({ kind: z.literal("child"), run: z.string() }),
  z.strictObject({
    kind: z.literal("cancel"),
    reason: z.string(),
    code: z.enum(["run.cancelled", "task.cancelled", "task.timeout"]),
  }),
  /** To a task: somebody decided about a call that waits for approval. The first under a `key` wins. */
  z.strictObject({
    kind: z.literal("decision"),
    key: z.string(),
    granted: z.boolean(),
    by: z.string(),
    comment: z.string(),
  }),
  /** To a stream that waits for a decision about a cut. */
  z.strictObject({ kind: z.literal("cutDecision"), decision: z.enum(["rerun", "keep"]), by: z.string() }),
  /** To a session. `steer`: to be read at the next step, not at the end of the turn. */
  z.strictObject({ kind: z.literal("message"), text: z.string(), close: z.boolean(), steer: z.boolean() }),
  /** To a run: what its workflow waits for, now or later. */
  z.strictObject({ kind: z.literal("signal"), signal: z.string(), value: json }),
  /** To a task whose plan, wave `wave`, was cut: stop at the next step until a later plan claims it. */
  z.strictObject({ kind: z.literal("hold"), wave: z.int() }),
  /** To a held task: a plan has claimed it. */
  z.strictObject({ kind: z.literal("claim"), wave: z.int() }),
]);
export type Fact = z.infer<typeof fact>;
export interface InboxItem {
  readonly seq: number;
  readonly key: string;
  readonly fact: Fact;
}

export const TERMINAL: ReadonlySet<string> = new Set([
  "TaskCompleted",
  "TaskFailed",
  "TaskCancelled",
  "RunCompleted",
  "RunFailed",
  "RunCancelled",
]);

/** Facts absorbed so far: the maximum over the raw log, cut events included (I3). It may begin with the event that a part of a run begins with. */
export const inboxCursor = (log: readonly RawEvent[]): number =>
  log.reduce((cursor, e) => {
    const reached = e.type === "RunContinued" ? e.payload.absorbed : e.payload.inboxSeq;
    return Math.max(cursor, typeof reached === "number" ? reached : 0);
  }, 0);

type Parsed<E> =
  | { readonly ok: true; readonly events: Recorded<E>[] }
  | { readonly ok: false; readonly seq: number; readonly type: string };

/** Reads a stream's events; the first that this version doesn't understand is named instead (I7: it is a newer version's, not damage to repair). */
function parseAll<E>(
  schema: { safeParse(v: unknown): { success: boolean; data?: E } },
  raw: readonly RawEvent[],
): Parsed<E> {
  const events: Recorded<E>[] = [];
  for (const e of raw) {
    const parsed = schema.safeParse({ type: e.type, ...e.payload });
    if (!parsed.success) return { ok: false, seq: e.seq, type: e.type };
    events.push(Object.assign(parsed.data as E & object, { seq: e.seq, recordedAt: e.recordedAt }));
  }
  return { ok: true, events };
}
export const parseTaskEvents = (raw: readonly RawEvent[]): Parsed<TaskEvent> => parseAll<TaskEvent>(taskEvent, raw);
export const parseRunEvents = (raw: readonly RawEvent[]): Parsed<RunEvent> => parseAll<RunEvent>(runEvent, raw);
