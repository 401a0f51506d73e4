// What went wrong, and whether the same question may be asked again. An error has the same shape before a stream and in it; behind a base URL it may have any.
import { APIConnectionError, APIError, APIUserAbortError } from "openai";
import { messageOf } from "../../../core/errors.ts";
import type { ModelFailure } from "../../../ports/model.ts";
import { failure, retryAfterMs } from "../failure.ts";
import type { OpenAiSettings } from "./client.ts";

export const stopped = (): ModelFailure => failure("model.unavailable", "The call was stopped.", true);

/** A stream that ended before its answer did, or an answer that is none. */
export class BadAnswer extends Error {}

/** What an error of the API's says, in whatever way it came. */
export interface Complaint {
  /** Undefined: it came under status 200. */
  readonly status: number | undefined;
  readonly code: string;
  readonly type: string;
  readonly param: string;
  readonly words: string;
}

/** Null: the provider didn't speak. */
export function complaintOf(thrown: unknown): Complaint | null {
  if (!(thrown instanceof APIError) || thrown instanceof APIConnectionError || thrown instanceof APIUserAbortError)
    return null;
  const code: unknown = thrown.code; // a number at some servers: the status that they would have given
  const status = thrown.status ?? (typeof code === "number" ? code : undefined);
  const kind = [code, thrown.type].find((name) => typeof name === "string" && name !== "");
  const facts = [status === undefined ? kind : `status ${status}`, thrown.requestID].filter(Boolean);
  const said = messageOf(thrown).replace(/^\d{3} /, ""); // the SDK puts the status first
  return {
    status,
    code: String(code ?? ""),
    type: String(thrown.type ?? ""),
    param: String(thrown.param ?? ""),
    words: facts.length === 0 ? said : `${said} (${facts.join(", ")})`,
  };
}

export function failureOf(
  thrown: unknown,
  { model, baseURL }: Pick<OpenAiSettings, "model" | "baseURL">,
): ModelFailure {
  const said = complaintOf(thrown);
  if (said !== null) return answered(said, (thrown as APIError).headers, { model, baseURL });
  if (thrown instanceof APIUserAbortError) return stopped();
  if (thrown instanceof APIConnectionError)
    return failure("model.unavailable", `No connection to the provider: ${messageOf(rootOf(thrown))}`, true);
  if (thrown instanceof BadAnswer) return failure("model.bad_answer", thrown.message, true);
  if (thrown instanceof SyntaxError)
    return failure("model.bad_answer", `The provider's answer can't be read: ${messageOf(thrown)}`, true);
  return failure("model.unavailable", `The connection to the provider failed: ${messageOf(thrown)}`, true);
}

const QUOTA = new Set([
  "insufficient_quota",
  "billing_hard_limit_reached",
  "billing_not_active",
  "credit_balance_exhausted",
]);
/** Not asked again: the same prompt meets the same policy. */
const POLICY = /^(invalid_prompt|bio_policy|misalignment_policy_violation|content_policy_violation|content_filter)$/;
const TOO_LONG =
  /maximum context|context (window|length|size)|exceed_context_size|too many (input )?tokens|(prompt|input) is too long|request too large/i;
/** A limit of the answer alone, which a shorter conversation doesn't mend. */
const ABOUT_OUTPUT = /supports at most \d+ completion tokens/i;
/** Time-outs, conflicts of two requests, rate limits. */
const AGAIN = new Set([408, 409, 425, 429]);

function answered(
  { status, code, type, words }: Complaint,
  headers: Headers | undefined,
  { model, baseURL }: Pick<OpenAiSettings, "model" | "baseURL">,
): ModelFailure {
  if (code === "context_length_exceeded" || code === "string_above_max_length" || isTooLong(words))
    return failure("context_exceeded", words, false);
  if (status === 413) return failure("context_exceeded", words, false);
  if (QUOTA.has(code) || type === "insufficient_quota")
    return failure("model.auth", `The account has no quota left: ${words}`, false);
  if (status === 404 || code === "model_not_found")
    return failure("model.bad_request", `The provider doesn't know "${model}": ${words}`, false);
  if (status === 401 || status === 403 || code === "invalid_api_key" || type === "authentication_error") {
    const at = baseURL ? ` to what the server at OPENAI_BASE_URL (${hostOf(baseURL)}) takes` : "";
    return failure("model.auth", `The provider refused the key: set OPENAI_API_KEY${at}. (${words})`, false);
  }
  if (POLICY.test(code)) return failure("model.refused", words, false);
  const refused =
    status === undefined ? type === "invalid_request_error" || REFUSED.test(code) : status < 500 && !AGAIN.has(status);
  if (refused) return failure("model.bad_request", words, false);
  const away = failure("model.unavailable", words, true, retryAfterMs(headers));
  return status === 429 ? { ...away, throttled: true } : away;
}

/** Codes of failed answers that speak of the request. */
const REFUSED = /^(invalid_|unsupported_|empty_image|image_(?!parse_error)|failed_to_download|data_residency)/;

const isTooLong = (words: string): boolean => TOO_LONG.test(words) && !ABOUT_OUTPUT.test(words);

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "no URL");

/** "fetch failed" says nothing; what caused it says where nobody answered. */
function rootOf(thrown: unknown): unknown {
  const seen = new Set<unknown>();
  let root = thrown;
  for (;;) {
    seen.add(root);
    const { cause, errors } = root as { readonly cause?: unknown; readonly errors?: readonly unknown[] };
    const below = cause ?? errors?.[0]; // several, of a name with several addresses
    if (typeof below !== "object" || below === null || seen.has(below)) return root;
    root = below;
  }
}

/** A whole answer that takes longer than Node waits for the first byte of one: a stream has no such limit. */
export const wasTooSlow = (thrown: unknown): boolean =>
  (rootOf(thrown ?? {}) as { readonly code?: unknown }).code === "UND_ERR_HEADERS_TIMEOUT";
