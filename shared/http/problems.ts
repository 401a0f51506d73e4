// Errors as RFC 9457 problems. One table gives each code its status; what isn't listed can't be a client's and is answered with 500.
import * as z from "zod";
import { ERRORS, type ErrorCode, type ErrorInfo, messageOf, TorenError } from "../core/errors.ts";
import { RETRY_AFTER_S } from "../core/limits.ts";

export const STATUS = {
  "request.invalid": 400,
  not_in_this_version: 400,
  "auth.missing": 401,
  "auth.invalid": 401,
  "auth.expired": 401,
  "auth.revoked": 401,
  "auth.forbidden": 403,
  not_found: 404,
  method_not_allowed: 405,
  "agent.unknown": 404,
  "run.unknown": 404,
  "run.ended": 409,
  "run.not_failed": 409,
  "run.not_ended": 409,
  "run.stopping": 409,
  "run.not_begun": 409,
  "run.is_a_child": 409,
  "fork.unknown_place": 400,
  "fork.repeats": 409,
  "dead_letter.unknown": 404,
  "dead_letter.unreadable": 409,
  "run.not_a_session": 409,
  "run.is_a_session": 409,
  "signal.too_many": 409,
  "approval.unknown": 409,
  "approval.ambiguous": 409,
  "decision.taken": 409,
  "cut.not_waiting": 409,
  "cut.nothing_to_keep": 409,
  "file.attached": 409,
  "idempotency.conflict": 409,
  "request.too_many": 429,
  "request.too_large": 413,
  "payload.too_large": 413,
  "schedule.too_many": 409,
  "schedule.invalid": 422,
  "agent.invalid": 422,
  "redaction.failed": 422,
  "file.unknown": 422,
  "file.unreadable": 422,
  "process.unknown": 422,
  "role.unknown": 422,
  "workflow.bad_input": 422,
  "workflow.not_json": 422,
  "agent.not_registered": 503,
  "database.unavailable": 503,
  "queue.unavailable": 503,
  "secret.unavailable": 503,
  "secret.unusable": 503,
  "files.unavailable": 503,
  "encryption.key_missing": 503,
  "encryption.keys_invalid": 503,
  "encryption.unreadable": 503,
  "database.unsafe": 503,
  "schema.newer": 503,
  "schema.older": 503,
  "server.unreachable": 503,
} as const satisfies Partial<Record<ErrorCode, number>>;

export type ProblemStatus = (typeof STATUS)[keyof typeof STATUS] | 500;

/** One wrong place in a request: `$.files[2]` of the body, or a parameter's name. */
export interface Place {
  readonly path: string;
  readonly message: string;
}

export interface Problem {
  /** Where the code is explained, relative to Toren's repository; stable, since it is made of the code. */
  readonly type: string;
  readonly title: string;
  readonly status: ProblemStatus;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly errors?: readonly Place[] | undefined;
}

export const problemOut: z.ZodType<Problem> = z.object({
  type: z.string().meta({ description: "Where the code is explained: docs/reference/errors.md#<code without dots>." }),
  title: z.string(),
  status: z.union([...new Set<ProblemStatus>([...Object.values(STATUS), 500])].map((status) => z.literal(status))),
  detail: z.string().meta({ description: "What is wrong, and what to do." }),
  code: z.enum(Object.keys(ERRORS) as ErrorCode[]),
  retryable: z.boolean().meta({ description: "The same request can succeed later." }),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

const TITLES: Readonly<Record<ProblemStatus, string>> = {
  400: "Bad request",
  401: "Not authenticated",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  413: "Too large",
  422: "Can't be done as asked",
  429: "Too many requests",
  500: "Internal error",
  503: "Not available now",
};

export const statusOf = (code: ErrorCode): ProblemStatus =>
  code in STATUS ? STATUS[code as keyof typeof STATUS] : 500;

/** A request that can't be read, with the places that are wrong. */
export class BadRequest extends TorenError {
  readonly places: readonly Place[];
  constructor(message: string, places: readonly Place[]) {
    super("request.invalid", message);
    this.places = places;
  }
}

export function problemOf(error: ErrorInfo, places?: readonly Place[]): Problem {
  const status = statusOf(error.code);
  return {
    type: `docs/reference/errors.md#${error.code.replaceAll(".", "")}`,
    title: TITLES[status],
    status,
    detail: error.message,
    code: error.code,
    retryable: ERRORS[error.code].retryable,
    ...(places && places.length > 0 ? { errors: places } : {}),
  };
}

export function problemResponse(problem: Problem): Response {
  const headers = new Headers({ "content-type": "application/problem+json" });
  if (problem.status === 503) headers.set("retry-after", String(RETRY_AFTER_S));
  if (problem.status === 429) headers.set("retry-after", "1");
  if (problem.status === 401) headers.set("www-authenticate", 'Bearer realm="toren"');
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}

/** Any thrown value as a problem. What nobody expected is a bug: its text stays in our log, it may hold anything. */
export function problemOfThrown(thrown: unknown): { readonly problem: Problem; readonly bug: string | null } {
  if (thrown instanceof TorenError && statusOf(thrown.code) !== 500) {
    return { problem: problemOf(thrown.info, thrown instanceof BadRequest ? thrown.places : undefined), bug: null };
  }
  const problem = problemOf({ code: "bug", message: "An unexpected error. The server's log says more." });
  return { problem, bug: messageOf(thrown) };
}
