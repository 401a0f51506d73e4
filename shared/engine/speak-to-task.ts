// What people tell a task: whether a call may run, what they say in a session, and what becomes of a cut that would repeat an effect. Each is a fact
// under a key: the first wins, and whoever comes second is told who was first, and when (c18).
import type { ErrorInfo } from "../core/errors.ts";
import type { Fact } from "../core/events.ts";
import { canonical, type Json, jsonBytes, toJson } from "../core/json.ts";
import { INBOX_FACTS_MAX, PAYLOAD_MAX_BYTES, SESSION_BEGIN_POLL_MS, SESSION_BEGIN_WAIT_MS } from "../core/limits.ts";
import { streamIdOf } from "../core/stream-id.ts";
import type { FromOutside } from "../ports/agents.ts";
import type { PendingApproval, StreamRef } from "../ports/store.ts";
import { cutKey, type Instead } from "./cut-request.ts";
import type { EngineDeps } from "./deps.ts";
import { hintOf, nudge } from "./hints.ts";
import { type Redacted, redacted } from "./redact.ts";
import { decisionKey } from "./task-approvals.ts";

type SpeakDeps = Pick<EngineDeps, "store" | "queue" | "uuid" | "agents">;
export type Spoken = { readonly type: "told" } | { readonly type: "refused"; readonly error: ErrorInfo };

const refused = (code: ErrorInfo["code"], message: string): Spoken => ({ type: "refused", error: { code, message } });
const unknownRun = (runId: string): Spoken => refused("run.unknown", `There is no run ${runId}.`);
const endedRun = (runId: string, at?: number | null, more = ""): Spoken =>
  refused("run.ended", `Run ${runId} has ended${at == null ? "" : `, at ${time(at)}`}; nothing was changed.${more}`);
const time = (ms: number): string => new Date(ms).toISOString();

export interface ApprovalDecision {
  readonly agent: string;
  readonly runId: string;
  /** The tool use's id, or the request's key, where several have one id; may be left out when only one call waits. */
  readonly call?: string;
  readonly granted: boolean;
  readonly by: string;
  readonly comment: string;
}

export async function decideApproval(deps: SpeakDeps, decision: ApprovalDecision): Promise<Spoken> {
  const { agent, runId, call } = decision;
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return unknownRun(runId);
  const asked = await deps.store.tasks.approvals(agent, runId);
  if (row.endedAt !== null) {
    const last = asked.findLast((a) => call === undefined || a.key === call || a.toolUseId === call)?.decided;
    return endedRun(runId, row.endedAt, last ? ` ${taken({ kind: "decision", key: "", ...last }, last.at)}` : "");
  }
  const open = asked.filter((a) => a.decided === null);
  const wanted = meant(asked, call);
  const [approval] = wanted;
  if (approval === undefined)
    return refused(
      "approval.unknown",
      call === undefined
        ? "No call of this run waits for approval."
        : `No call "${call}" of this run waits for approval. ${waiting(open)}`,
    );
  if (wanted.length > 1)
    return refused("approval.ambiguous", `${wanted.length} calls wait: name one. ${waiting(wanted)}`);
  const { granted, by } = decision;
  const comment = kept(deps, agent, decision.comment, { kind: "comment", name: null });
  if (!comment.ok) return { type: "refused", error: comment.error };
  const fact: Fact = { kind: "decision", key: approval.key, granted, by, comment: String(comment.value) };
  const stream = { agent, runId, streamId: streamIdOf(approval.taskId) };
  return await tell(deps, stream, decisionKey(approval.key), fact);
}

/** Those that a call's id can mean: several calls may have one, and one call may be asked about again. A key means one request. */
function meant(asked: readonly PendingApproval[], call: string | undefined): readonly PendingApproval[] {
  const byKey = asked.filter((a) => a.key === call);
  if (byKey.length > 0) return byKey;
  const named = asked.filter((a) => call === undefined || a.toolUseId === call);
  const open = named.filter((a) => a.decided === null);
  return open.length > 0 ? open : named.slice(-1); // a decision that came second is told who was first
}

function waiting(open: readonly PendingApproval[]): string {
  if (open.length === 0) return "";
  const ids = open.map((a) => a.toolUseId);
  const named = open.map((a) => (ids.filter((id) => id === a.toolUseId).length > 1 ? a.key : a.toolUseId));
  return `Waiting: ${open.map((a, i) => `${named[i]} (${a.tool}, task ${a.taskId})`).join(", ")}.`;
}

/** `second`: what is said to whoever comes when a fact stands under the key already. */
async function tell(
  deps: SpeakDeps,
  stream: StreamRef,
  key: string,
  fact: Fact,
  second = (first: Fact, at: number) => refused("decision.taken", taken(first, at)),
): Promise<Spoken> {
  const delivered = await deps.store.streams.deliver(stream, key, fact);
  switch (delivered.type) {
    case "delivered":
      await nudge(deps, [hintOf(stream.agent, stream.runId, stream.streamId)]); // also for one that works: it looks at its next step
      return { type: "told" };
    case "duplicate":
      return second(delivered.fact, delivered.at);
    case "ended":
      return endedRun(stream.runId, (await deps.store.runs.get(stream.agent, stream.runId))?.endedAt);
    case "missing":
      return unknownRun(stream.runId);
  }
}

const taken = (fact: Fact, at: number): string => `Decided already: ${said(fact)}, at ${time(at)}.`;

function said(fact: Fact): string {
  if (fact.kind === "decision")
    return `${fact.granted ? "granted" : "denied"} by ${fact.by}${fact.comment === "" ? "" : ` ("${fact.comment}")`}`;
  if (fact.kind === "cutDecision") return `${fact.decision} by ${fact.by}`;
  return fact.kind;
}

/** As it is recorded. Who doesn't serve the agent can't know what must be taken out, so it records nothing that a redaction might have to see. */
function kept({ agents }: SpeakDeps, agent: string, value: Json, what: FromOutside): Redacted {
  if (value === "") return { ok: true, value };
  const deployed = agents.get(agent);
  if (deployed !== null) return redacted(deployed.agent, value, what);
  const message = `The agent "${agent}" isn't served here, so nobody knows what of this may be recorded. Mend it, or ask a server that serves it.`;
  return { ok: false, error: { code: "agent.unknown", message } };
}

export interface Message {
  readonly agent: string;
  readonly runId: string;
  readonly text: string;
  /** The session ends with the answer; with an empty text at once. */
  readonly close: boolean;
  /** Read at the next step, not at the end of the turn. */
  readonly steer: boolean;
  /** The same key again: nothing is said twice. */
  readonly idempotencyKey?: string;
}

/** A session that was just started has nobody to talk to until its first tick has planned its task: we wait for that, within a bound. */
export async function sendMessage(deps: SpeakDeps & Pick<EngineDeps, "sleep">, message: Message): Promise<Spoken> {
  for (let waitedMs = 0; ; waitedMs += SESSION_BEGIN_POLL_MS) {
    const spoken = await sendNow(deps, message);
    if (spoken.type !== "refused" || spoken.error.code !== "run.not_begun") return spoken;
    if (waitedMs >= SESSION_BEGIN_WAIT_MS) return spoken;
    await deps.sleep(SESSION_BEGIN_POLL_MS);
  }
}

async function sendNow(deps: SpeakDeps, message: Message): Promise<Spoken> {
  const { agent, runId, close, steer } = message;
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return unknownRun(runId);
  if (row.mode !== "session") return refused("run.not_a_session", `Run ${runId} is no session: it takes no messages.`);
  const { idempotencyKey } = message;
  if (row.endedAt !== null && idempotencyKey === undefined) return endedRun(runId, row.endedAt); // one with a key may have been heard
  if (message.text.trim() === "" && !close)
    return refused("request.invalid", "The message is empty: say something, or close the session.");
  const said = kept(deps, agent, message.text, { kind: "message", name: null });
  if (!said.ok) return { type: "refused", error: said.error };
  const text = String(said.value);
  const stream = { agent, runId, streamId: streamIdOf("w0t0") };
  const spoken = await tellOnce(deps, stream, { kind: "message", text, close, steer }, idempotencyKey);
  if (spoken.type === "told" || spoken.error.code !== "run.unknown") return spoken;
  if ((await deps.store.runs.get(agent, runId)) === null) return spoken;
  return refused(
    "run.not_begun",
    `Nobody has begun session ${runId} yet: is a worker there? Say it again in a moment.`,
  );
}

/** Under a key of its sender's own: the same again is told once, something else under it is refused. */
async function tellOnce(
  deps: SpeakDeps,
  stream: StreamRef,
  fact: Fact & { readonly kind: "message" | "signal" },
  idempotencyKey: string | undefined,
): Promise<Spoken> {
  return await tell(deps, stream, `${fact.kind}:${idempotencyKey ?? deps.uuid()}`, fact, (first) =>
    canonical(toJson(first)) === canonical(toJson(fact))
      ? { type: "told" }
      : refused(
          "idempotency.conflict",
          `Idempotency-Key ${idempotencyKey} was used for another ${fact.kind}; use a new key.`,
        ),
  );
}

export interface SignalToRun {
  readonly agent: string;
  readonly runId: string;
  readonly signal: string;
  readonly value: Json;
  /** The same key again: the signal is sent once. */
  readonly idempotencyKey?: string;
}

/** Kept until its workflow waits for it, if it ever does. */
export async function sendSignal(deps: SpeakDeps, sent: SignalToRun): Promise<Spoken> {
  const { agent, runId, signal } = sent;
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return unknownRun(runId);
  if (row.mode === "session")
    return refused(
      "run.is_a_session",
      `Run ${runId} is a session: it waits for messages, not for signals. \`toren jobs send\` says something.`,
    );
  const { idempotencyKey } = sent;
  if (row.endedAt !== null && idempotencyKey === undefined) return endedRun(runId, row.endedAt); // one with a key may have come
  const received = kept(deps, agent, sent.value, { kind: "signal", name: signal });
  if (!received.ok) return { type: "refused", error: received.error };
  const { value } = received;
  const bytes = jsonBytes(value);
  if (bytes > PAYLOAD_MAX_BYTES)
    return refused("payload.too_large", `The signal's value of ${bytes} bytes is over ${PAYLOAD_MAX_BYTES} bytes.`);
  const own = { agent, runId, streamId: "run" };
  if (row.facts >= INBOX_FACTS_MAX)
    return refused(
      "signal.too_many",
      `Run ${runId} was told ${INBOX_FACTS_MAX} things already, and takes no more signals; one that was sent before is there. Start another run for what follows, or have its workflow go on anew (ctx.continueAsNew).`,
    );
  return await tellOnce(deps, own, { kind: "signal", signal, value }, idempotencyKey);
}

/** For every stream of the run that waits for a decision about a cut. The question is the key: two who decide about one are told who was first. */
export async function decideCut(
  deps: SpeakDeps,
  decision: { agent: string; runId: string; decision: "rerun" | "keep"; by: string },
): Promise<Spoken> {
  const { agent, runId, by } = decision;
  const row = await deps.store.runs.get(agent, runId);
  if (row === null) return unknownRun(runId);
  if (row.endedAt !== null) return endedRun(runId, row.endedAt);
  const waiting = (await deps.store.runs.streams(agent, runId)).filter((s) => s.wait === "cut");
  const questions = await Promise.all(
    waiting.map(async ({ streamId, headSeq }) => {
      const stream = { agent, runId, streamId };
      return { stream, asked: await askedLast(deps, stream, headSeq) };
    }),
  );
  if (questions.length === 0) return refused("cut.not_waiting", "No cut of this run waits for a decision.");
  const own = questions.find(({ stream }) => stream.streamId === "run");
  if (decision.decision === "keep" && own !== undefined && (own.asked.instead?.standing ?? 0) === 0)
    return refused(
      "cut.nothing_to_keep",
      "No recorded task can answer for what the edited workflow asks: none is of a role that it asks. Revert the edit and resume, decide --rerun, or cancel the run.",
    );
  const fact: Fact = { kind: "cutDecision", decision: decision.decision, by };
  const results = await Promise.all(questions.map(({ stream, asked }) => tell(deps, stream, cutKey(asked.seq), fact)));
  return results.find((r) => r.type === "refused") ?? { type: "told" };
}

/** The question that a stream waits with. It stands near the end of the log. */
async function askedLast(
  deps: SpeakDeps,
  stream: StreamRef,
  headSeq: number,
): Promise<{ readonly seq: number; readonly instead?: Instead }> {
  for (const from of [Math.max(0, headSeq - 100), 0]) {
    const asked = (await deps.store.streams.read(stream, from)).findLast((e) => e.type === "CutRequested");
    if (asked !== undefined) return { seq: asked.seq, ...(asked.payload as { instead?: Instead }) };
  }
  throw new Error(`stream ${stream.streamId} of ${stream.runId} waits with a cut that it never asked about`);
}
