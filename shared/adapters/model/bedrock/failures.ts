// What went wrong, and what to do about it. Exceptions have the same names before a stream and in it; behind a gateway only the status is left.
import { messageOf } from "../../../core/errors.ts";
import type { ModelFailure } from "../../../ports/model.ts";
import { failure, retryAfter } from "../failure.ts";
import { CutStream } from "./stream.ts";
import { NotBedrock } from "./transport.ts";

export interface Place {
  readonly modelId: string;
  readonly region: string;
  readonly endpoint: string | undefined;
}

/** What of an exception counts, whoever made it. */
interface Thrown {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly clockSkewCorrected?: boolean };
  readonly $response?: { readonly statusCode?: number; readonly headers?: Readonly<Record<string, string>> };
}

const AWAY = new Set([
  "ThrottlingException",
  "TooManyRequestsException",
  "ServiceQuotaExceededException",
  "ServiceUnavailableException",
  "ServiceUnavailable",
  "InternalServerException",
  "InternalFailure",
  "InternalServerError",
  "ModelTimeoutException",
  "ModelNotReadyException",
  "ModelStreamErrorException",
  "ModelErrorException",
  "RequestTimeout",
  "RequestTimeoutException",
]);
const THROTTLED = new Set(["ThrottlingException", "TooManyRequestsException"]);
/** The credentials themselves are wrong or old. */
const CREDENTIALS = new Set([
  "UnrecognizedClientException",
  "InvalidClientTokenId",
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidSignatureException",
  "SignatureDoesNotMatch",
  "IncompleteSignature",
  "IncompleteSignatureException",
  "MissingAuthenticationToken",
  "MissingAuthenticationTokenException",
  "RequestExpired",
  "CredentialsProviderError",
  "TokenProviderError",
]);
const DENIED = new Set(["AccessDeniedException", "AccessDenied", "NotAuthorized", "OptInRequired"]);

/** As the models say it: Claude, Nova, Llama and others have words of their own. */
const TOO_LONG =
  /too long|too many (?:input )?tokens|(?:input|prompt|tokens?).{0,60}exceed|exceed.{0,60}(?:input|prompt) (?:tokens?|length)/i;
const CONTEXT = /context (?:window|length|limit)/i;
/** A limit of the answer alone, which a shorter conversation doesn't mend. */
const ABOUT_OUTPUT = /maximum tokens you requested|output tokens|max_?tokens/i;
const isTooLong = (message: string): boolean =>
  CONTEXT.test(message) || (TOO_LONG.test(message) && !ABOUT_OUTPUT.test(message));

/** Refused as it was asked, before the model wrote anything: within a stream that began, the SDK tells nothing of the request. */
export const isRefusal = (thrown: unknown): thrown is Error =>
  thrown instanceof Error && thrown.name === "ValidationException" && (thrown as Thrown).$metadata !== undefined;

export function failureOf(thrown: unknown, place: Place): ModelFailure {
  const message = messageOf(thrown);
  if (thrown instanceof CutStream)
    return failure("model.bad_answer", `Bedrock's answer isn't whole: ${message}.`, true);
  if (thrown instanceof NotBedrock) return notBedrock(thrown, place);
  const { name, $metadata, $response } = (thrown ?? {}) as Thrown;
  const kind = typeof name === "string" && !/^Unknown(?:Error)?$/.test(name) ? name : "";
  const status = $metadata?.httpStatusCode ?? $response?.statusCode;
  if ($metadata?.clockSkewCorrected)
    return failure(
      "model.unavailable",
      `This machine's clock is wrong; the next try allows for it. (${message})`,
      true,
    );
  const headers = $response?.headers ?? {};
  if (AWAY.has(kind)) return away(`${kind}: ${message}`, THROTTLED.has(kind), headers);
  if (CREDENTIALS.has(kind)) return failure("model.auth", credentialWords(`${kind}: ${message}`), false);
  if (DENIED.has(kind)) return failure("model.auth", deniedWords(message, place), false);
  if (kind === "ResourceNotFoundException") return notFound(message, place);
  if (kind === "ValidationException" || status === 413) return refused(message, place, status);
  if (status !== undefined) return byStatus({ status, kind, headers }, message, place);
  if (kind === "SyntaxError" || /event message|checksum/i.test(message)) return unreadable(message);
  return unconnected(thrown, message, place);
}

type Headers = Readonly<Record<string, string>>;

function away(message: string, throttled: boolean, headers: Headers): ModelFailure {
  // Bedrock itself names no time; what stands before it may.
  const failed = failure("model.unavailable", message, true, retryAfter(headers["retry-after"]));
  return throttled ? { ...failed, throttled } : failed;
}

interface Answered {
  readonly status: number;
  readonly kind: string;
  readonly headers: Headers;
}

function byStatus({ status, kind, headers }: Answered, message: string, place: Place): ModelFailure {
  if (status === 401) return failure("model.auth", credentialWords(message), false);
  if (status === 403) return failure("model.auth", deniedWords(message, place), false);
  if (status === 404) return notFound(message, place);
  if (status === 400 || status === 422) return refused(message, place, status);
  if (status < 300) return unreadable(message);
  return away(`${kind || `status ${status}`}: ${message}`, status === 429, headers);
}

const unreadable = (message: string): ModelFailure =>
  failure("model.bad_answer", `Bedrock's answer can't be read: ${message}`, true);

function unconnected(thrown: unknown, message: string, place: Place): ModelFailure {
  const broke = (thrown as Thrown | undefined)?.code === "ECONNRESET" && message === "aborted";
  const what = broke ? "The connection broke off within the answer of" : "No connection to";
  return failure("model.unavailable", `${what} ${where(place)}: ${message}`, true);
}

function refused(message: string, { modelId }: Place, status: number | undefined): ModelFailure {
  if (status === 413 || isTooLong(message)) return failure("context_exceeded", message, false);
  if (/on-demand throughput/i.test(message))
    return failure(
      "model.bad_request",
      `"${modelId}" is only served by an inference profile: put us., eu., apac. or global. before it. (${message})`,
      false,
    );
  return failure("model.bad_request", message, false);
}

function notFound(message: string, { modelId, region, endpoint }: Place): ModelFailure {
  if (/use case/i.test(message))
    return failure(
      "model.auth",
      `Bedrock wants to know what "${modelId}" is used for: fill in its form in the Bedrock console. (${message})`,
      false,
    );
  return failure("model.bad_request", `Bedrock doesn't know "${modelId}" in ${endpoint ?? region}: ${message}`, false);
}

function notBedrock(thrown: NotBedrock, place: Place): ModelFailure {
  const { status } = thrown;
  const words = `${where(place)} answered with something that isn't Bedrock's: ${thrown.message}`;
  if (status < 300) return failure("model.bad_answer", words, true);
  if (status === 401 || status === 403) return failure("model.auth", words, false);
  if (status === 413) return failure("context_exceeded", words, false);
  if (status >= 500 || status === 429 || status === 408) return away(words, status === 429, thrown.headers);
  return failure("model.bad_request", words, false);
}

const where = ({ region, endpoint }: Place): string => endpoint ?? `bedrock-runtime in ${region}`;

const credentialWords = (message: string): string =>
  `AWS takes no call with these credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE (after \`aws sso login\`), AWS_BEARER_TOKEN_BEDROCK, or give the worker a role. (${message})`;

const deniedWords = (message: string, { modelId, region }: Place): string =>
  `AWS denies "${modelId}" in ${region}: allow bedrock:InvokeModelWithResponseStream and bedrock:InvokeModel for it (for an inference profile also for the models behind it), and turn on access to the model in the Bedrock console. (${message})`;
