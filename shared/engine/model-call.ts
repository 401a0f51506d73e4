// One policy of retries for every provider: back-off with jitter, a provider's own retry-after honoured, every failed try on record.

import type { ErrorInfo } from "../core/errors.ts";
import { type Json, jsonBytes, toJson } from "../core/json.ts";
import { MODEL_BACKOFF_MAX_MS, MODEL_BACKOFF_MS, MODEL_TIMEOUT_MS, PAYLOAD_MAX_BYTES } from "../core/limits.ts";
import type { ModelRequest, ModelResponse } from "../core/messages.ts";
import { modelResponse } from "../core/messages.ts";
import type { ModelFailure } from "../ports/model.ts";
import type { EngineDeps } from "./deps.ts";

export type Asked =
  | { readonly type: "answered"; readonly response: ModelResponse }
  | { readonly type: "failed"; readonly failure: ModelFailure }
  /** The writer was interrupted: the answer, if one is under way, is nobody's any more. */
  | { readonly type: "interrupted" };

export async function askModel(deps: EngineDeps, request: ModelRequest, interrupt: AbortSignal): Promise<Asked> {
  const resolved = await deps.models.resolve(request.model);
  if (!resolved.ok) return { type: "failed", failure: { error: resolved.error, retryable: false } };
  const signal = AbortSignal.any([interrupt, AbortSignal.timeout(MODEL_TIMEOUT_MS)]);
  const answer = await resolved.model.ask(request, signal);
  if (interrupt.aborted && !answer.ok) return { type: "interrupted" };
  if (!answer.ok) return { type: "failed", failure: answer.failure };
  return recordable(answer.response);
}

/** What an adapter gives is held to the same contract as the log: an answer that can't be recorded is no answer. */
function recordable(response: ModelResponse): Asked {
  const parsed = modelResponse.safeParse(toJson(response));
  if (!parsed.success)
    return failed(
      "model.bad_answer",
      `the provider's adapter gave an answer that can't be recorded: ${parsed.error.issues[0]?.message}`,
    );
  const bytes = jsonBytes(parsed.data as unknown as Json);
  if (bytes > PAYLOAD_MAX_BYTES)
    return failed(
      "payload.too_large",
      `The model's answer of ${bytes} bytes is over the limit of ${PAYLOAD_MAX_BYTES} bytes.`,
    );
  return { type: "answered", response: parsed.data };
}

const failed = (code: ErrorInfo["code"], message: string): Asked => ({
  type: "failed",
  failure: { error: { code, message }, retryable: false },
});

/** Full jitter over an exponential back-off; never sooner than the provider asked. */
export function backoffMs(failure: ModelFailure, tries: number, random: number): number {
  const ceiling = Math.min(MODEL_BACKOFF_MAX_MS, MODEL_BACKOFF_MS * 2 ** (tries - 1));
  return Math.max(failure.retryAfterMs ?? 0, ceiling / 2 + (ceiling / 2) * random);
}
