// One policy of retries for every provider: back-off with jitter, a provider's own retry-after honoured, every failed try on record.

import type { ErrorInfo } from "../core/errors.ts";
import { type Json, jsonBytes, NotJson, toJson } from "../core/json.ts";
import {
  MODEL_BACKOFF_MAX_MS,
  MODEL_BACKOFF_MS,
  MODEL_CALL_MAX_MS,
  MODEL_RETRY_AFTER_MAX_MS,
  PAYLOAD_MAX_BYTES,
} from "../core/limits.ts";
import type { ModelRequest, ModelResponse } from "../core/messages.ts";
import { modelResponse, usage } from "../core/messages.ts";
import type { AskContext, Model, ModelAnswer, ModelFailure } from "../ports/model.ts";
import type { EngineDeps } from "./deps.ts";
import { linkedTo } from "./linked-signal.ts";
import { type AboutCall, traceModelCall } from "./spans.ts";

export type Asked =
  | { readonly type: "answered"; readonly response: ModelResponse }
  | { readonly type: "failed"; readonly failure: ModelFailure }
  /** The writer was interrupted: the answer, if one is under way, is nobody's any more. */
  | { readonly type: "interrupted" };

/** `about`: what its span says beside the request. */
export async function askModel(
  deps: EngineDeps,
  request: ModelRequest,
  interrupt: AbortSignal,
  context: AskContext,
  about?: AboutCall,
): Promise<Asked> {
  const resolved = await deps.models.resolve(request.model);
  if (!resolved.ok) return { type: "failed", failure: { error: resolved.error, retryable: false } };
  return await traceModelCall(request, about, () => askOnce(resolved.model, request, interrupt, context));
}

async function askOnce(
  model: Model,
  request: ModelRequest,
  interrupt: AbortSignal,
  context: AskContext,
): Promise<Asked> {
  let accepted = context.reattach !== undefined;
  const { answer, late } = await askInTime(model, request, interrupt, {
    ...context,
    onAccepted: async (ref) => {
      await context.onAccepted?.(ref);
      accepted = true;
    },
  });
  if (answer.ok) return recordable(answer.response);
  if (interrupt.aborted) return { type: "interrupted" };
  if (!late) return { type: "failed", failure: answer.failure };
  const message = `The model did not answer within ${MODEL_CALL_MAX_MS / 60_000} minutes.`;
  const failure: ModelFailure = { error: { code: "model.unavailable", message }, retryable: true };
  return { type: "failed", failure: accepted ? { ...failure, goesOn: true } : failure };
}

async function askInTime(
  model: Model,
  request: ModelRequest,
  interrupt: AbortSignal,
  context: AskContext,
): Promise<{ readonly answer: ModelAnswer; readonly late: boolean }> {
  const call = linkedTo(interrupt);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    call.abort();
  }, MODEL_CALL_MAX_MS);
  timer.unref();
  try {
    const answer = await Promise.race([model.ask(request, call.signal, context), stopped(call.signal)]); // an adapter may not listen
    return { answer, late };
  } finally {
    clearTimeout(timer);
    call.unlink();
  }
}

const stopped = (signal: AbortSignal): Promise<ModelAnswer> =>
  new Promise((resolve) => {
    const error = { code: "model.unavailable", message: "The call was stopped." } as const;
    const answer = (): void => resolve({ ok: false, failure: { error, retryable: true } });
    if (signal.aborted) answer();
    else signal.addEventListener("abort", answer, { once: true });
  });

/** What an adapter gives is held to the same contract as the log: an answer that can't be recorded is no answer. */
function recordable(response: ModelResponse): Asked {
  const parsed = parse(response);
  if ("problem" in parsed)
    return failed(
      "model.bad_answer",
      `The provider's adapter gave an answer that can't be recorded: ${parsed.problem}`,
      response,
    );
  const bytes = jsonBytes(parsed.data as unknown as Json);
  if (bytes > PAYLOAD_MAX_BYTES)
    return failed(
      "payload.too_large",
      `The model's answer of ${bytes} bytes is over the limit of ${PAYLOAD_MAX_BYTES} bytes.`,
      response,
    );
  return { type: "answered", response: parsed.data };
}

function parse(response: ModelResponse): { readonly data: ModelResponse } | { readonly problem: string } {
  try {
    const parsed = modelResponse.safeParse(toJson(response));
    if (parsed.success) return { data: parsed.data };
    const issue = parsed.error.issues[0];
    return { problem: `${issue?.path.join(".")}: ${issue?.message}` };
  } catch (thrown) {
    if (thrown instanceof NotJson) return { problem: thrown.message };
    throw thrown;
  }
}

/** It was paid all the same. */
function failed(code: ErrorInfo["code"], message: string, { usage: told }: ModelResponse): Asked {
  const paid = usage.safeParse(told);
  const failure: ModelFailure = { error: { code, message }, retryable: false };
  return { type: "failed", failure: paid.success ? { ...failure, usage: paid.data } : failure };
}

/** Full jitter over an exponential back-off; not sooner than the provider asked, within MODEL_RETRY_AFTER_MAX_MS. */
export function backoffMs(failure: ModelFailure, tries: number, random: number): number {
  const ceiling = Math.min(MODEL_BACKOFF_MAX_MS, MODEL_BACKOFF_MS * 2 ** (tries - 1));
  const asked = Math.min(MODEL_RETRY_AFTER_MAX_MS, failure.retryAfterMs ?? 0);
  return Math.max(asked, ceiling / 2 + (ceiling / 2) * random);
}
