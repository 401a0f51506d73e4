// What went wrong, and whether the same question may be asked again. An error has the same shape before a stream and in it; behind a gateway it may have any.
import { APIConnectionError, APIError } from "@anthropic-ai/sdk";
import { messageOf } from "../../../core/errors.ts";
import { MODEL_ERROR_PAGE_CHARS } from "../../../core/limits.ts";
import type { ModelFailure } from "../../../ports/model.ts";
import { failure, retryAfterMs, withoutTags } from "../failure.ts";

/** A stream that ended before its answer did, or an answer that is no stream. */
export class BadAnswer extends Error {}

/** Why the provider refused the request itself; null: it failed otherwise, and asking for less would change nothing. */
export function refusalOf(thrown: unknown): string | null {
  if (!(thrown instanceof APIError) || (thrown.status !== 400 && thrown.status !== 413)) return null;
  return wordsOf(thrown);
}

export function failureOf(thrown: unknown, model: string): ModelFailure {
  if (thrown instanceof BadAnswer) return failure("model.bad_answer", thrown.message, true);
  if (thrown instanceof SyntaxError)
    return failure("model.bad_answer", `The provider's answer can't be read: ${messageOf(thrown)}`, true);
  if (thrown instanceof APIConnectionError || !(thrown instanceof APIError))
    return failure("model.unavailable", `The connection to the provider failed: ${messageOf(thrown)}`, true);
  return answered(thrown, model);
}

function answered(thrown: APIError, model: string): ModelFailure {
  const { status } = thrown;
  const type: string | null = thrown.type;
  const words = wordsOf(thrown);
  if (status === 401 || status === 403 || type === "authentication_error" || type === "permission_error")
    return failure("model.auth", `Anthropic refused the key: set ANTHROPIC_API_KEY. (${words})`, false);
  if (status === 402 || type === "billing_error" || /credit balance is too low/i.test(words))
    return failure("model.auth", `Anthropic's account can't pay: ${words}`, false);
  if (status === 413 || type === "request_too_large" || isTooLong(words))
    return failure("context_exceeded", words, false);
  if (status === 404 || type === "not_found_error")
    return failure("model.bad_request", `Anthropic doesn't know "${model}": ${words}`, false);
  const refused = status === undefined ? type === "invalid_request_error" : status < 500 && !AGAIN.has(status);
  if (refused) return failure("model.bad_request", words, false);
  const away = failure("model.unavailable", words, true, retryAfterMs(thrown.headers));
  return status === 429 || type === "rate_limit_error" ? { ...away, throttled: true } : away;
}

/** Time-outs, conflicts of two requests, rate limits. */
const AGAIN = new Set([408, 409, 425, 429]);

/** Of input alone, or of input and answer together; an answer alone that may not be so long is another matter. */
const isTooLong = (words: string): boolean =>
  /prompt is too long|exceed(s|ed)? (the )?(model'?s )?(maximum )?context|input is too long|too many (input )?tokens/i.test(
    words,
  );

/** The provider's own sentence, with what to quote to its support; of a page in HTML the first words. */
function wordsOf({ status, apiMessage, message, requestID }: APIError): string {
  const plain = apiMessage ?? message.replace(/^\d{3} /, ""); // the SDK puts the status first
  const text = withoutTags(plain).slice(0, apiMessage === null ? MODEL_ERROR_PAGE_CHARS : undefined);
  const facts = [...(status === undefined ? [] : [`status ${status}`]), ...(requestID ? [requestID] : [])].join(", ");
  return `${text.toWellFormed() || "no words"}${facts === "" ? "" : ` (${facts})`}`;
}
