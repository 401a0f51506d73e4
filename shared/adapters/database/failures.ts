// What a failed query or connection says about the connection, and about the database behind it.
import { messageOf, TorenError } from "../../core/errors.ts";

/** SQLSTATE of a server's error, or the operating system's code of a socket's. Node wraps the tries of a name with two addresses in one error. */
export function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}

// 57P01 terminated by an administrator, 57P02 crash of another backend, 57P03 starting or stopping, 57P05 idle too long;
// 25006 the server became a read-only standby: this connection leads to the wrong machine.
const LOST_STATES = new Set(["57P01", "57P02", "57P03", "57P05", "25006"]);
const LOST_SOCKET = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
// The driver has no code for these.
const LOST_TEXT =
  /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect|client was closed/i;

/** True when the connection that threw this must not be used again. Whether the statement took effect isn't known then. */
export function isConnectionLost(thrown: unknown): boolean {
  const code = codeOf(thrown);
  if (code === undefined) return LOST_TEXT.test(messageOf(thrown));
  return code.startsWith("08") || LOST_STATES.has(code) || LOST_SOCKET.has(code);
}

/** True when asking again later may help: the server is starting, restarting, full, or its name doesn't resolve yet. */
export function isAway(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return isConnectionLost(thrown) || code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "53300";
}

/** Rolled back by contention: the same again may pass. */
export const CONTENTION: ReadonlySet<string> = new Set(["40P01", "40001", "55P03"]);

/** True when the statement isn't at fault: no disk, no memory, a time-out, contention. */
function isPassing(thrown: unknown): boolean {
  const code = codeOf(thrown) ?? "";
  return code.startsWith("53") || code.startsWith("57") || CONTENTION.has(code);
}

/** What the engine is told when the database is away or can't now; anything else stays what it is. */
export function asUnavailable(thrown: unknown): unknown {
  if (!isAway(thrown) && !isPassing(thrown)) return thrown;
  return new TorenError("database.unavailable", `The database didn't answer: ${messageOf(thrown)}`, { cause: thrown });
}

/**
 * Runs a statement that may be repeated as it is, once more on another connection when the first one was lost: an idle connection that the server has
 * closed meanwhile is only noticed when it is used.
 */
export async function repeatedOnce<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (first) {
    if (!isConnectionLost(first)) throw asUnavailable(first);
  }
  try {
    return await statement();
  } catch (second) {
    throw asUnavailable(second);
  }
}
