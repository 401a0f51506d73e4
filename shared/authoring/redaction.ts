// defineRedaction: what an author wants never to be recorded of what comes from outside, exported by tools.ts beside the tools.
import { TorenError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import type { FromOutside, RedactFn } from "../ports/agents.ts";

export type { FromOutside } from "../ports/agents.ts";

/** By the global registry of symbols, as a tool's. */
const REDACTION = Symbol.for("toren.redaction");

/** A redaction as tools.ts exports it. */
export interface Redaction {
  readonly [REDACTION]: RedactFn;
}

/**
 * Called with each value that comes from outside a run, before it is recorded: inputs, messages, signals, comments, and what tools and steps give back. What
 * it returns is recorded, and is all that models, tools and workflows ever see. It must be synchronous, give the same for the same, and leave alone what it
 * gave before. One that throws, or returns no JSON, has nothing recorded: the request is refused, the call or the step fails.
 * @throws TorenError `agent.invalid` when it is given no function.
 */
export function defineRedaction(redact: (value: Json, what: FromOutside) => Json): Redaction {
  if (typeof redact !== "function")
    throw new TorenError("agent.invalid", "defineRedaction takes a function: defineRedaction((value) => …)");
  return Object.freeze({ [REDACTION]: redact });
}

/** The value with each of its texts as `redact` makes it; names of fields stay. */
export function redactTexts(value: Json, redact: (text: string) => string): Json {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => redactTexts(part, redact));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, redactTexts(part, redact)]));
}

export const isRedaction = (value: unknown): value is Redaction =>
  typeof value === "object" && value !== null && REDACTION in value;

export const redactionOf = (redaction: Redaction): RedactFn => redaction[REDACTION];
