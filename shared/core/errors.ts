// The one table of errors (closed): a code's reach says what it ends, `retryable` whether the same attempt can succeed later without a change.
// Every code has its section in docs/reference/errors.md; a test holds the two equal.
import { ERROR_CAUSES_MAX, ERROR_MESSAGE_MAX_CHARS } from "./limits.ts";

/** What an error ends: the one call, its task, the run, this invocation of a handler, the request of a client, or nothing but our own trust (a bug). */
export type Reach = "call" | "task" | "run" | "invocation" | "request" | "bug";

interface Entry {
  readonly reach: Reach;
  readonly retryable: boolean;
}

const entry = (reach: Reach, retryable = false): Entry => ({ reach, retryable });

export const ERRORS = {
  // a task
  "model.auth": entry("task"),
  "model.bad_request": entry("task"),
  "model.unknown": entry("task"),
  "model.refused": entry("task"),
  "model.price_unknown": entry("task"),
  "model.unavailable": entry("task", true),
  "model.bad_answer": entry("task", true),
  "model.paused_too_often": entry("task"),
  context_exceeded: entry("task"),
  compaction_failed: entry("task"),
  output_exhausted: entry("task"),
  max_steps: entry("task"),
  budget_exhausted: entry("task"),
  "tool.unknown_outcome": entry("task"),
  "task.timeout": entry("task"),
  "task.cancelled": entry("task"),
  "task.step_too_long": entry("task"),
  "role.unknown": entry("task"),
  // a task or a run
  crash_loop: entry("task"),
  "payload.too_large": entry("task"),
  // a run
  "workflow.threw": entry("run"),
  "workflow.foreign_await": entry("run"),
  "workflow.not_json": entry("run"),
  "workflow.bad_input": entry("run"),
  "workflow.bad_argument": entry("run"),
  "workflow.too_many_operations": entry("run"),
  "workflow.ended_twice": entry("run"),
  "workflow.runs_idle": entry("run"),
  "wave.failed": entry("run"),
  "wave.too_large": entry("run"),
  "step.failed": entry("run"),
  "step.timeout": entry("run"),
  "child.too_deep": entry("run"),
  "process.unknown": entry("run"),
  "run.cancelled": entry("run"),
  "cut.needs_decision": entry("run"),
  // an invocation: the stream is unharmed, somebody looks again
  "cut.storm": entry("invocation", true),
  "generation.older": entry("invocation", true),
  "database.unavailable": entry("invocation", true),
  "database.unsafe": entry("invocation"),
  "schema.newer": entry("invocation"),
  "schema.older": entry("invocation"),
  "agent.not_registered": entry("invocation"),
  "queue.unavailable": entry("invocation", true),
  "secret.unavailable": entry("invocation", true),
  "secret.unusable": entry("invocation"),
  "files.unavailable": entry("invocation", true),
  "environment.incomplete": entry("invocation"),
  "encryption.key_missing": entry("invocation"),
  "encryption.keys_invalid": entry("invocation"),
  "encryption.unreadable": entry("invocation"),
  // a client's request, or what an author wrote
  "request.invalid": entry("request"),
  "request.too_large": entry("request"),
  "auth.missing": entry("request"),
  "auth.invalid": entry("request"),
  "auth.expired": entry("request"),
  "auth.revoked": entry("request"),
  "auth.forbidden": entry("request"),
  "request.too_many": entry("request", true),
  "schedule.invalid": entry("request"),
  "schedule.too_many": entry("request"),
  not_found: entry("request"),
  method_not_allowed: entry("request"),
  "agent.unknown": entry("request"),
  "run.unknown": entry("request"),
  "run.ended": entry("request"),
  "run.not_failed": entry("request"),
  "run.not_ended": entry("request"),
  "run.stopping": entry("request", true),
  "run.is_a_child": entry("request"),
  "fork.unknown_place": entry("request"),
  "fork.repeats": entry("request"),
  "dead_letter.unknown": entry("request"),
  "dead_letter.unreadable": entry("request"),
  "run.not_a_session": entry("request"),
  "run.is_a_session": entry("request"),
  "run.not_begun": entry("request", true),
  "signal.too_many": entry("request"),
  "approval.unknown": entry("request"),
  "approval.ambiguous": entry("request"),
  "decision.taken": entry("request"),
  "cut.not_waiting": entry("request"),
  "cut.nothing_to_keep": entry("request"),
  "file.unknown": entry("request"),
  "file.unreadable": entry("request"),
  "file.attached": entry("request"),
  "idempotency.conflict": entry("request"),
  "agent.invalid": entry("request"),
  "redaction.failed": entry("request"),
  not_in_this_version: entry("request"),
  "server.unreachable": entry("request", true),
  // ours
  bug: entry("bug"),
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof ERRORS;

/** An error as it is recorded, sent and shown. `message` says what to do; `detail` is for machines. */
export interface ErrorInfo {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The thrown form, where an expected failure has to cross code that can only throw (an author's tool, a library's callback, an HTTP route). */
export class TorenError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TorenError";
    this.code = code;
  }
  get info(): ErrorInfo {
    return { code: this.code, message: this.message };
  }
}

/** Whether only this invocation failed (the database, the queue or a secret is away, the schema isn't migrated yet): no death of a worker's, whatever it worked on. */
export const isOutage = (thrown: unknown): boolean =>
  thrown instanceof TorenError && ERRORS[thrown.code].reach === "invocation";

/**
 * What an unknown thrown value says, whatever it is: never empty, because providers refuse empty text (c7), at most ERROR_MESSAGE_MAX_CHARS characters,
 * and well-formed. It ends with the innermost cause, if there is one. It doesn't throw itself.
 */
export function messageOf(thrown: unknown): string {
  try {
    const text = wordsOf(thrown).slice(0, ERROR_MESSAGE_MAX_CHARS).toWellFormed();
    return text.trim() === "" ? "failed without a message" : text;
  } catch {
    return "threw a value that can't be shown"; // an object without toString, a message that is a getter that throws
  }
}

/** By shape, not by class: errors of another realm, and objects that only look like errors, have a message too. */
function wordsOf(thrown: unknown): string {
  const own = ownWords(thrown);
  const below = causesOf(thrown);
  return [own, ...below.filter((words) => !own.includes(words))].join(": ");
}

/** `fetch failed` alone helps nobody: its cause names the address. Of several (Promise.any, a host with several addresses) each is named once. */
function causesOf(thrown: unknown): string[] {
  if (thrown instanceof TorenError) return []; // our own words say what matters of it
  let at = thrown;
  for (let level = 0; level < ERROR_CAUSES_MAX && isObject(at); level++) {
    const { cause } = at as { readonly cause?: unknown };
    if (!isObject(cause) && (typeof cause !== "string" || cause.trim() === "")) break;
    at = cause;
  }
  const innermost = at === thrown ? [] : [ownWords(at)];
  const { errors } = (isObject(at) ? at : {}) as { readonly errors?: unknown };
  if (!Array.isArray(errors) || errors.length === 0) return innermost;
  const several = [...new Set(errors.slice(0, ERROR_CAUSES_MAX).map(ownWords))].join("; ");
  const left = errors.length - ERROR_CAUSES_MAX;
  return [
    ...innermost.filter((words) => words !== "AggregateError"),
    left > 0 ? `${several}; and ${left} more` : several,
  ];
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

function ownWords(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  const { message, name } = thrown as { readonly message?: unknown; readonly name?: unknown };
  for (const words of [message, name]) if (typeof words === "string" && words.trim() !== "") return words;
  return String(thrown);
}
