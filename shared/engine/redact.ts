// What an agent's author wants never recorded. It is taken out where a value comes in, so that what is recorded is also what everybody goes on with: a
// replay reads the same, and no digest is of anything else. Whatever goes wrong with it, nothing is recorded, and what is said of it holds none of the value.
import type { ErrorInfo } from "../core/errors.ts";
import { type Json, toJson } from "../core/json.ts";
import type { AgentDefinition, FromOutside } from "../ports/agents.ts";

export type Redacted = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: ErrorInfo };
type Redacting = Pick<AgentDefinition, "name" | "redact">;

/** A text stays a text. */
export function redacted(agent: Redacting, value: Json, what: FromOutside): Redacted {
  const { name, redact } = agent;
  if (redact === undefined) return { ok: true, value };
  const failed = (why: string): Redacted => ({
    ok: false,
    error: {
      code: "redaction.failed",
      message: `The redaction of agent "${name}" ${why} for ${wordsOf(what)}. Nothing of it was recorded.`,
    },
  });
  try {
    const kept: unknown = redact(structuredClone(value), what);
    if (kept instanceof Promise) {
      kept.catch(() => {});
      return failed("returned a promise (it must be synchronous)");
    }
    if (kept === undefined) return failed("returned nothing");
    if (TEXTS.has(what.kind) && typeof kept !== "string") return failed("didn't return a text");
    return { ok: true, value: toJson(kept) };
  } catch (thrown) {
    return failed(`threw ${thrown instanceof Error ? `a ${thrown.name}` : "something"}`); // its message may hold the value
  }
}

export type RedactedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly error: ErrorInfo };

/** An empty text says nothing that could be taken out. */
export function redactedText(agent: Redacting, text: string, what: FromOutside): RedactedText {
  const kept = text === "" ? ({ ok: true, value: "" } as const) : redacted(agent, text, what);
  return kept.ok ? { ok: true, text: String(kept.value) } : kept;
}

const TEXTS: ReadonlySet<FromOutside["kind"]> = new Set(["message", "comment", "toolError", "stepError"]);

const WORDS: Readonly<Record<FromOutside["kind"], string>> = {
  input: "an input of process",
  message: "a message",
  comment: "a comment",
  signal: "the signal",
  toolResult: "a result of tool",
  toolError: "an error of tool",
  stepResult: "the result of step",
  stepError: "an error of step",
};
const wordsOf = ({ kind, name }: FromOutside): string => (name === null ? WORDS[kind] : `${WORDS[kind]} "${name}"`);
