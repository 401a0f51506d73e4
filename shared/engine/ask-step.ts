// Asking the model, for a task's next step or for a summary of its conversation. Answers null to go on with the loop.
import { costOf, type Rates, usdOf } from "../core/cost.ts";
import type { TaskEvent } from "../core/events.ts";
import { BUDGET_WAIT_MS, MODEL_FAILURES_MAX, MODEL_TRIES, MODEL_WAIT_IN_PROCESS_MS } from "../core/limits.ts";
import { type ModelRequest, type ModelResponse, NO_USAGE, totalTokens, type Usage } from "../core/messages.ts";
import { normalise } from "../core/task/history.ts";
import { type Amount, isCapped, NOTHING, overBudget } from "../core/task/ledger.ts";
import type { Ask } from "../core/task/loop.ts";
import { pressure } from "../core/task/pressure.ts";
import { acceptedAs } from "../core/task/task-state.ts";
import type { Gate } from "../ports/flow.ts";
import type { LiveCall } from "../ports/live.ts";
import type { AskContext, ModelFacts, ModelFailure } from "../ports/model.ts";
import type { Purse } from "../ports/store.ts";
import type { Worked } from "./deps.ts";
import { coolModel, enterGates, leaveGates, modelGate } from "./gates.ts";
import { mustHandOver } from "./hand-over.ts";
import { linkedTo } from "./linked-signal.ts";
import { type Asked, askModel, backoffMs } from "./model-call.ts";
import { parkStream } from "./park-stream.ts";
import type { TaskWork } from "./task-work.ts";

export async function askStep(work: TaskWork, ask: Ask): Promise<Worked | null> {
  const { deps, writer, state } = work;
  if (state.retryAt !== null && state.retryAt > writer.lease.now)
    return await parkStream(work, "retry", { at: state.retryAt, now: writer.lease.now }); // nudged too early
  const { stream } = writer.lease;
  const gate = gateOf(work, ask);
  const gates = [gate];
  for (let tries = 1; ; tries++) {
    const waiting = await enterGates(deps, stream, gates);
    if (waiting !== null) return await parkStream(work, "retry", waiting.wake);
    const reattach = acceptedAs(state, ask.digest);
    const kept = reattach === null ? await begin(work, ask) : null;
    if (kept !== null) {
      await leaveGates(deps, stream, gates, { [gate.key]: 0 });
      return kept;
    }
    const shown = shownTo(work, ask);
    const asked = await askModel(
      deps,
      withinOutput(ask.request, work.facts),
      work.interrupt,
      contextOf(work, ask, reattach, shown),
      {
        stepId: ask.stepId,
        purpose: ask.purpose,
        attempt: state.failures + 1,
        rates: work.facts.price,
        reattached: reattach !== null,
      },
    ).finally(() => shown?.end());
    const used = totalTokens(usedBy(asked));
    await leaveGates(deps, stream, gates, { [gate.key]: used });
    if (asked.type === "interrupted") return null;
    if (asked.type === "answered") return answered(work, ask, asked.response);
    const { failure } = asked;
    const { error, retryable } = failure;
    if (error.code === "context_exceeded") return failed(work, ask, failure); // the loop makes room, or ends the task if there is none to make
    if (!retryable || state.failures + 1 >= MODEL_FAILURES_MAX) {
      failed(work, ask, failure);
      return await work.fail(error);
    }
    const waitMs = backoffMs(failure, state.failures + 1, deps.random());
    if (failure.throttled) await coolModel(deps, ask.request.model, waitMs);
    if (tries >= MODEL_TRIES || waitMs > MODEL_WAIT_IN_PROCESS_MS) {
      const now = await deps.store.streams.now();
      const retryAt = Math.ceil(now + waitMs);
      failed(work, ask, failure, retryAt);
      return await parkStream(work, "retry", { at: retryAt, now }); // an outage costs no compute
    }
    failed(work, ask, failure);
    const wait = linkedTo(work.interrupt, work.at.stop); // a worker that stops doesn't sleep on
    await deps.sleep(waitMs, wait.signal);
    wait.abort();
    if (work.interrupt.aborted || mustHandOver(work)) return null;
    if (failure.usage !== undefined) return null; // it was paid: whether another try fits the caps is looked at again
  }
}

/** What it may use is only worked out where tokens are counted: without a provider's own count that takes the whole conversation. */
function gateOf({ deployed, state }: TaskWork, { request, reserve }: Ask): Gate {
  const settings = deployed.agent.models.get(request.model);
  const counted = settings !== undefined && settings.tokensPerMinute !== null;
  const estimate = (): number => pressure(state.measured, state.history) + request.maxTokens;
  return modelGate(request.model, settings, counted ? (reserve?.tokens ?? estimate()) : 0);
}

/** A model refuses a limit above its own, which says nothing about the question: it is asked for what it can give, and the digest stays. */
const withinOutput = (request: ModelRequest, { maxOutput }: ModelFacts): ModelRequest =>
  maxOutput === null || request.maxTokens <= maxOutput ? request : { ...request, maxTokens: maxOutput };

/** What a provider's adapter may need of the world while it asks. */
const contextOf = (
  { deps, record, writer, hint }: TaskWork,
  { stepId }: Ask,
  reattach: string | null,
  shown: LiveCall | null,
): AskContext => ({
  media: (fileId) => deps.files.content(fileId),
  onAccepted: async (ref) => {
    record({ type: "LlmCallAccepted", stepId, ref });
    await writer.flush();
  },
  ...(reattach === null ? {} : { reattach }),
  ...(shown === null ? {} : { onDelta: shown.show, watched: deps.live.isWatched(hint.runId) }),
});

/** Who watches sees what the task says; a summary is nobody's to read. */
function shownTo({ deps, writer, state }: TaskWork, { purpose, stepId }: Ask): LiveCall | null {
  if (purpose !== "step" || state.asking === null) return null;
  return deps.live.call(writer.lease.stream, { stepId, call: state.asking.seq });
}

/** Durable before it begins (I4), and within the run's budget. Not null: it isn't begun. */
async function begin(work: TaskWork, ask: Ask): Promise<Worked | null> {
  const { writer, spec, state } = work;
  const { stepId, digest, purpose, reserve } = ask;
  const dollars = reserve === null || reserve.nanoUsd === 0 ? {} : { usd: usdOf(reserve.nanoUsd) };
  const started: TaskEvent = {
    type: "LlmCallStarted",
    stepId,
    requestDigest: digest,
    model: ask.request.model,
    purpose,
    ...(reserve === null ? {} : { reserve: { tokens: reserve.tokens, ...dollars } }),
  };
  if (reserve === null || !isCapped(spec.budget)) {
    work.record(started);
    await writer.flush();
    return null;
  }
  const purse: Purse = { hold: reserve, spend: NOTHING, keep: state.ledger.open !== null };
  const answer = await writer.tryFlush(started, { type: "run" }, purse);
  if (answer.type === "ok") {
    work.fold(started, answer.head);
    return null;
  }
  if (answer.type === "heard") throw new Error("a call's start is conditional on no fact");
  const over = overBudget(spec.budget, answer.spent, reserve, "the run's");
  writer.pay({ ...purse, hold: NOTHING }); // or those whose calls died would wait for one another's reservations
  if (over !== null) return await work.fail({ code: "budget_exhausted", message: over });
  const now = await work.deps.store.streams.now(); // others' reservations stand in the way: most are too high, and are given back
  return await parkStream(work, "retry", { at: now + BUDGET_WAIT_MS, now });
}

/** Flushed with what comes next: its tools' starts, the next question, or the end. */
function answered(work: TaskWork, ask: Ask, response: ModelResponse): null {
  const { usage, ...said } = normalise(response, work.state.usedIds);
  const before = work.state.ledger.spent;
  work.record({ type: "LlmCallCompleted", stepId: ask.stepId, response: said, ...costed(work.facts.price, usage) });
  settle(work, before);
  return null;
}

function usedBy(asked: Asked): Usage {
  if (asked.type === "interrupted") return NO_USAGE;
  return (asked.type === "answered" ? asked.response.usage : asked.failure.usage) ?? NO_USAGE;
}

/** By the prices of the moment; nothing where none is known. */
function costed(rates: Rates | null, usage: Usage) {
  return { usage, ...(rates === null ? {} : { cost: { usd: costOf(usage, rates), simulated: rates.simulated } }) };
}

/** In place of what was reserved for the call: what its end said that it took, `before` being what was spent then. */
function settle({ state, spec, writer }: TaskWork, before: Amount): void {
  const { tokens, nanoUsd } = state.ledger.spent;
  const spend = { tokens: tokens - before.tokens, nanoUsd: nanoUsd - before.nanoUsd };
  if (isCapped(spec.budget)) writer.pay({ hold: NOTHING, spend, keep: false });
}

/** A failed call costs what its provider said that it had used, and gives back the rest of what was reserved; one that goes on there still costs it. */
function failed(work: TaskWork, ask: Ask, failure: ModelFailure, retryAt?: number): null {
  const goesOn = failure.goesOn === true && work.state.accepted !== null; // else nobody could fetch it
  const before = work.state.ledger.spent;
  work.record({
    type: "LlmCallFailed",
    stepId: ask.stepId,
    error: failure.error,
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(goesOn ? { goesOn } : failure.usage === undefined ? {} : costed(work.facts.price, failure.usage)),
  });
  if (!goesOn) settle(work, before);
  return null;
}
