// Holding a final answer against the role's outputSchema, with feedback in words of ours: a library's wording may change, a digest may not.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { messageOf } from "../errors.ts";
import type { Json } from "../json.ts";
import { toJson } from "../json.ts";

export type OutputVerdict =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problems: readonly string[] };
export type OutputCheck = (text: string) => OutputVerdict;

const PROBLEMS_MAX = 8;

/** @throws Error when the schema isn't one; agents are refused at load by schemaProblem. */
export function outputCheck(schema: Json): OutputCheck {
  const validate = compile(schema);
  return (text) => {
    let problems: string[] | null = null;
    for (const value of candidates(text)) {
      if (validate(value)) return { ok: true, value };
      problems ??= (validate.errors ?? []).slice(0, PROBLEMS_MAX).map(problem);
    }
    return { ok: false, problems: problems ?? ["it is not JSON"] };
  };
}

/** What is wrong with it as a schema; null: nothing. */
export function schemaProblem(schema: Json): string | null {
  try {
    compile(schema);
    return null;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

function compile(schema: Json): ValidateFunction {
  return new Ajv2020({ strict: false, allErrors: true, logger: false }).compile(schema as object);
}

/**
 * Models like to wrap JSON in a fence, or in a sentence; taking it out is cheaper than another turn. The whole text comes first, then the first fence,
 * then what lies between the outermost brackets of a kind, the kind that opens first before the other. Linear in the text: it is a model's, of any size.
 */
function* candidates(text: string): Generator<Json> {
  for (const candidate of new Set([text, fenced(text), ...bracketed(text)])) {
    if (candidate === null) continue;
    try {
      yield toJson(JSON.parse(candidate)); // judged as it will be kept: 1e999 is null by then
    } catch {
      // the next candidate; NotJson: nested too deeply
    }
  }
}

function fenced(text: string): string | null {
  const open = text.indexOf("```");
  const start = open < 0 ? -1 : text.indexOf("\n", open);
  const end = start < 0 ? -1 : text.indexOf("```", start);
  return end < 0 ? null : text.slice(start, end);
}

function bracketed(text: string): (string | null)[] {
  const between = (open: string, close: string) => {
    const [first, last] = [text.indexOf(open), text.lastIndexOf(close)];
    return first >= 0 && last > first ? { first, text: text.slice(first, last + 1) } : null;
  };
  return [between("{", "}"), between("[", "]")]
    .sort((a, b) => (a?.first ?? 0) - (b?.first ?? 0))
    .map((found) => found?.text ?? null);
}

function problem(error: ErrorObject): string {
  const place = error.instancePath === "" ? "the value" : error.instancePath;
  const p = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "required":
      return `${place} lacks "${p.missingProperty}"`;
    case "type":
      return `${place} must be of type ${p.type}`;
    case "enum":
      return `${place} must be one of ${JSON.stringify(p.allowedValues)}`;
    case "const":
      return `${place} must be ${JSON.stringify(p.allowedValue)}`;
    case "additionalProperties":
      return `${place} must not have "${p.additionalProperty}"`;
    default:
      return `${place} breaks the rule "${error.keyword}" of the schema`;
  }
}
