// Over 300 lines: the rules, and the one reader of what they are about. Whether a log can be believed: everything that must hold of all rows of an agent at any committed moment, whoever wrote them and whatever died.
// It reads rows and nothing else, and folds them by itself: the product's own folds are what is checked.
import type { Pool } from "pg";
import { chain, digestOf } from "../../shared/core/digest.ts";
import { fromStored, type Json } from "../../shared/core/json.ts";
import type { ModelRequest, Usage } from "../../shared/core/messages.ts";
import type { Sealer } from "../../shared/ports/sealer.ts";
import { checkFamily } from "./log-checker-family.ts";
import { checkRun } from "./log-checker-run.ts";
import { checkTask } from "./log-checker-task.ts";
import { dataKeys, plain } from "./opened.ts";

export interface RunDump {
  readonly runId: string;
  readonly status: string;
  readonly streams: readonly StreamDump[];
  readonly waves: readonly WaveDump[];
}
export interface StreamDump {
  readonly streamId: string;
  readonly status: string;
  readonly outcome: string | null;
  readonly wait: string | null;
  readonly headSeq: number;
  readonly inboxSeq: number;
  readonly absorbed: number;
  readonly wakeAt: number | null;
  readonly leaseOwner: string | null;
  readonly leaseEpoch: number;
  readonly wave: number | null;
  readonly sealedSeq: number;
  readonly sealedFacts: number;
  readonly events: readonly EventDump[];
  readonly inbox: readonly FactDump[];
}
export interface EventDump {
  readonly seq: number;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}
export interface FactDump {
  readonly seq: number;
  readonly key: string;
  readonly payload: Readonly<Record<string, unknown>>;
}
export interface WaveDump {
  readonly wave: number;
  readonly onFailure: string;
  readonly unsettled: number;
  readonly signalled: boolean;
}

/** What the world outside wrote down by itself. */
export interface Books {
  /** The code asked A, then B, then A again: what was cut in between may be paid for again. */
  readonly wavering?: boolean;
  /** Questions that reached a model. `digest` as `digestOfRequest` gives it. */
  readonly ledger?: readonly { readonly digest: string; readonly answered: boolean; readonly usage: Usage }[];
  readonly effects?: {
    /** How often each key took effect. */
    readonly keyed: ReadonlyMap<string, number>;
    /** How often calls without a key took effect, by `effectOf`. */
    readonly unkeyed: ReadonlyMap<string, number>;
  };
}

/** What a model was asked, as LlmCallStarted names it: derived from the request alone. */
export function digestOfRequest({ model, system, tools, options, maxTokens, messages }: ModelRequest): string {
  const header = digestOf({ model, system, tools: tools as unknown as Json, options, maxTokens });
  return messages.reduce((before, message) => chain(before, message as unknown as Json), header);
}

/** Names a call without a key in the books. */
export const effectOf = (tool: string, args: Json): string => digestOf({ tool, args });

/** All that is wrong, a line each; none: the log is sound. */
export function checkLog(dump: readonly RunDump[], books: Books = {}): string[] {
  return [
    ...dump.flatMap((run) => checkOne(run, books.wavering ?? false)),
    ...checkFamily(dump),
    ...checkLedger(dump, books.ledger),
    ...checkEffects(dump, books.effects),
  ];
}

function checkOne(run: RunDump, wavering: boolean): string[] {
  const found = run.streams.flatMap((s) =>
    [...checkStream(s), ...(s.streamId === "run" ? checkRun(run, s) : checkTask(s, wavering))].map(
      (w) => `${s.streamId}: ${w}`,
    ),
  );
  return [...found, ...checkWake(run), ...checkStatus(run)].map((what) => `run ${run.runId}: ${what}`);
}

const TERMINAL: Readonly<Record<string, string>> = {
  TaskCompleted: "completed",
  TaskFailed: "failed",
  TaskCancelled: "cancelled",
  RunCompleted: "completed",
  RunFailed: "failed",
  RunCancelled: "cancelled",
};

/** Sequence numbers, absorption and endings: the same for both kinds of stream. */
function checkStream(s: StreamDump): string[] {
  const wrong: string[] = [];
  const { events, inbox } = s;
  if (events.some((e, i) => e.seq !== i + 1)) wrong.push(`seqs are not 1…n: ${events.map((e) => e.seq).join(" ")}`);
  if (events.length !== s.headSeq) wrong.push(`head is ${s.headSeq}, and ${events.length} events are there`);
  if (inbox.some((f, i) => f.seq !== i + 1)) wrong.push(`inbox is not 1…n: ${inbox.map((f) => f.seq).join(" ")}`);
  if (inbox.length !== s.inboxSeq) wrong.push(`inbox_seq is ${s.inboxSeq}, and ${inbox.length} facts are there`);
  if (new Set(inbox.map((f) => f.key)).size < inbox.length) wrong.push("a key was posted twice");
  const taken = events.flatMap((e) => (e.payload.inboxSeq === undefined ? [] : [e.payload.inboxSeq]));
  if (taken.some((seq, i) => seq !== i + 1))
    wrong.push(`facts were absorbed as ${taken.join(" ")}: not once, in order`);
  if (taken.length > inbox.length) wrong.push(`${taken.length} facts were absorbed of ${inbox.length}`);
  // A retry cuts what had ended the stream, and is the one event that may stand after it.
  const retried = events.findLastIndex((e) => e.type === "StreamInvalidated" && e.payload.retry !== undefined);
  if (retried > 0 && events[retried]?.payload.fork === undefined && !((events[retried - 1]?.type ?? "") in TERMINAL))
    wrong.push(`${retried + 1}: a retry of a stream that hadn't ended`);
  const end = events.findIndex((e, i) => i > retried && e.type in TERMINAL);
  if (end >= 0 && end < events.length - 1) wrong.push(`${events[end + 1]?.type} stands after ${events[end]?.type}`);
  const outcome = end < 0 ? null : (TERMINAL[events[end]?.type ?? ""] ?? null);
  if ((s.status === "ended") !== end >= 0) wrong.push(`status is ${s.status}, its last event ${events.at(-1)?.type}`);
  if (s.outcome !== outcome) wrong.push(`outcome is ${s.outcome}, the log says ${outcome}`);
  if ((s.status === "running") !== (s.leaseOwner !== null)) wrong.push(`${s.status} with lease owner ${s.leaseOwner}`);
  if (s.status === "parked" && s.absorbed !== s.inboxSeq)
    wrong.push(`parked having seen ${s.absorbed} of ${s.inboxSeq} facts`);
  if (s.status === "parked" && taken.length !== s.inboxSeq)
    wrong.push(`parked, and its log holds ${taken.length} of ${s.inboxSeq} facts`);
  return wrong;
}

/** Waits that a person ends. */
const PERSONS = new Map([
  ["cut", "waitingCut"],
  ["approval", "waitingApproval"],
  ["input", "awaitingInput"],
]);

/** Waits of a run's own stream, as its status names them. */
const PHASES = new Map([
  ["timer", "waitingTimer"],
  ["retry", "waitingRetry"],
  ["signal", "waitingSignal"],
]);

/** No run that hasn't ended without something that will wake it (I10). */
function checkWake(run: RunDump): string[] {
  const own = run.streams.find((s) => s.streamId === "run");
  const over = own === undefined || own.status === "ended";
  const open = run.streams.filter((s) => s.status !== "ended" && s.streamId !== "run");
  const coming = new Set(run.waves.filter((w) => !w.signalled).map((w) => w.wave));
  return run.streams.flatMap((s) => {
    if (s.status === "ended" || s.wakeAt !== null) return [];
    const forever = `${s.streamId}: nothing wakes it: ${s.status}, waits for ${s.wait}`;
    if (s.status !== "parked") return [forever];
    if (s.wait === "wave") return open.some((t) => t.wave !== null && coming.has(t.wave)) ? [] : [forever];
    if (s.wait === "child") return []; // its child's end is looked at where both are: log-checker-family.ts
    if (s.wait === "claim") return over ? [forever] : [];
    return PERSONS.has(s.wait ?? "") || s.wait === "signal" ? [] : [forever];
  });
}

/** The cached status against the streams it is made of. */
function checkStatus(run: RunDump): string[] {
  const own = run.streams.find((s) => s.streamId === "run");
  if (own === undefined) return ["it has no stream of its own"];
  const phase = PHASES.get(own.wait ?? "") ?? (own.leaseEpoch === 0 ? "created" : "running");
  const person = [...PERSONS].find(([wait]) => run.streams.some((s) => s.wait === wait))?.[1];
  const said = own.outcome ?? person ?? phase;
  return said === run.status ? [] : [`status is ${run.status}, its streams say ${said}`];
}

const allEvents = (dump: readonly RunDump[]): EventDump[] => dump.flatMap((r) => r.streams.flatMap((s) => s.events));

/** Each answer on record was paid, none twice for one place; each question that went out had been announced. */
function checkLedger(dump: readonly RunDump[], ledger: Books["ledger"]): string[] {
  if (ledger === undefined) return [];
  const started = new Map<string, number>();
  const recorded = new Map<string, { n: number; usage: number }>();
  for (const { events } of dump.flatMap((r) => r.streams)) {
    let asked = "";
    for (const { type, payload } of events) {
      if (type === "LlmCallStarted") {
        asked = String(payload.requestDigest);
        started.set(asked, (started.get(asked) ?? 0) + 1);
      } else if (type === "LlmCallCompleted") {
        const { n, usage } = recorded.get(asked) ?? { n: 0, usage: 0 };
        recorded.set(asked, { n: n + 1, usage: usage + tokens(payload.usage as Usage) });
      }
    }
  }
  const wrong: string[] = [];
  const books = Map.groupBy(ledger, (e) => e.digest);
  for (const [digest, entries] of books) {
    if (entries.length > (started.get(digest) ?? 0))
      wrong.push(`ledger: ${digest} was asked ${entries.length} times, started ${started.get(digest) ?? 0} times`);
  }
  for (const [digest, { n, usage }] of recorded) {
    const entries = books.get(digest) ?? [];
    const paid = entries.filter((e) => e.answered).length;
    if (n > paid) wrong.push(`ledger: ${digest} is recorded ${n} times, answered ${paid} times`);
    const expected = n * tokens(entries[0]?.usage);
    if (usage !== expected) wrong.push(`ledger: ${digest} has ${usage} tokens on record, ${expected} in the books`);
  }
  return wrong;
}
const tokens = (u: Usage | undefined): number =>
  u === undefined ? 0 : u.input + u.cacheRead + u.cacheWrite + u.output + u.reasoning * 1_000_003;

/** I4: an effect was announced; keyed ones happened once; what is recorded as done was done. */
function checkEffects(dump: readonly RunDump[], effects: Books["effects"]): string[] {
  if (effects === undefined) return [];
  const wrong: string[] = [];
  const events = allEvents(dump);
  const calls = events.filter((e) => e.type === "ToolCallStarted" && e.payload.effects === "external");
  const steps = events.filter((e) => e.type === "StepStarted");
  const keys = new Set([...calls, ...steps].map((e) => String(e.payload.idempotencyKey)));
  for (const [key, n] of effects.keyed) {
    if (n !== 1) wrong.push(`effects: key ${key} took effect ${n} times`);
    if (!keys.has(key)) wrong.push(`effects: key ${key} took effect and is in no log`);
  }
  const unkeyed = calls.filter((e) => e.payload.idempotency === "none");
  const names = new Set(unkeyed.map((e) => effectOf(String(e.payload.tool), e.payload.args as Json)));
  for (const name of effects.unkeyed.keys())
    if (!names.has(name)) wrong.push(`effects: ${name} took effect and is in no log`);
  for (const { done, payload } of completedCalls(dump)) {
    if (!done || payload.effects !== "external") continue;
    const happened =
      payload.idempotency === "keyed"
        ? effects.keyed.has(String(payload.idempotencyKey))
        : effects.unkeyed.has(effectOf(String(payload.tool), payload.args as Json));
    if (!happened) wrong.push(`effects: ${String(payload.tool)} is recorded as done and took no effect`);
  }
  return wrong;
}

function completedCalls(dump: readonly RunDump[]): { done: boolean; payload: EventDump["payload"] }[] {
  return dump.flatMap((run) =>
    run.streams.flatMap(({ events }) => {
      const done = new Set(
        events
          .filter((e) => e.type === "ToolCallCompleted" && e.payload.isError === false)
          .map((e) => e.payload.toolUseId),
      );
      const started = events.filter((e) => e.type === "ToolCallStarted");
      return started.map(({ payload }) => ({ done: done.has(payload.toolUseId), payload }));
    }),
  );
}

/** All rows of an agent's schema, in one snapshot. For quiet databases: it reads everything. What is sealed is opened, by the setting unless a sealer is given. */
export async function dumpDatabase(pool: Pool, agent: string, sealer?: Sealer): Promise<RunDump[]> {
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(agent)) throw new Error(`"${agent}" names no agent`);
  const schema = `agent_${agent}`;
  const client = await pool.connect();
  const rows = async <T>(sql: string): Promise<T[]> => (await client.query(sql)).rows as T[];
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const rowsOfRuns = await rows<{ runId: string; status: string; key: string | null }>(
      `SELECT run_id AS "runId", status, data_key AS key FROM ${schema}.runs`,
    );
    const runs = rowsOfRuns.map(({ runId, status }) => ({ runId, status }));
    const keys = await dataKeys(rowsOfRuns, sealer);
    type Of<T> = T & { readonly runId: string };
    const streams = await rows<Of<Omit<StreamDump, "events" | "inbox">>>(
      `SELECT run_id AS "runId", stream_id AS "streamId", status, outcome, wait, head_seq::float8 AS "headSeq", inbox_seq::float8 AS "inboxSeq",
        absorbed::float8 AS absorbed, extract(epoch FROM wake_at)::float8 * 1000 AS "wakeAt", lease_owner AS "leaseOwner",
        lease_epoch::float8 AS "leaseEpoch", wave, sealed_seq::float8 AS "sealedSeq", sealed_facts::float8 AS "sealedFacts" FROM ${schema}.streams ORDER BY run_id, stream_id`,
    );
    const events = await rows<Of<EventDump> & { streamId: string }>(
      `SELECT run_id AS "runId", stream_id AS "streamId", seq::float8 AS seq, type, payload FROM ${schema}.events ORDER BY run_id, stream_id, seq`,
    );
    const inbox = await rows<Of<FactDump> & { streamId: string }>(
      `SELECT run_id AS "runId", stream_id AS "streamId", seq::float8 AS seq, key, payload FROM ${schema}.inbox ORDER BY run_id, stream_id, seq`,
    );
    const waves = await rows<Of<WaveDump>>(
      `SELECT run_id AS "runId", wave, on_failure AS "onFailure", unsettled, signalled FROM ${schema}.waves ORDER BY run_id, wave`,
    );
    const placeOf = (r: { runId: string; streamId: string }): string => `${r.runId} ${r.streamId}`;
    const logs = Map.groupBy(events, placeOf);
    const facts = Map.groupBy(inbox, placeOf);
    const restored = (e: Of<EventDump>): EventDump => ({
      seq: e.seq,
      type: e.type,
      payload: fromStored(plain(e.payload as Json, keys.get(e.runId))) as EventDump["payload"],
    });
    const restoredFact = (f: Of<FactDump>): FactDump => ({
      ...f,
      payload: plain(f.payload as Json, keys.get(f.runId)) as FactDump["payload"],
    });
    return runs.map((run) => ({
      ...run,
      waves: waves.filter((w) => w.runId === run.runId),
      streams: streams
        .filter((s) => s.runId === run.runId)
        .map((s) => ({
          ...s,
          events: (logs.get(placeOf(s)) ?? []).map(restored),
          inbox: (facts.get(placeOf(s)) ?? []).map(restoredFact),
        })),
    }));
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}
