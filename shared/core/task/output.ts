// Holding a final answer against the role's outputSchema, with feedback in words of ours: a library's wording may change, a digest may not.
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json } from "../json.ts";
import { toJson } from "../json.ts";

export type OutputVerdict =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problems: readonly string[] };
export type OutputCheck = (text: string) => OutputVerdict;

const PROBLEMS_MAX = 8;

/** @throws Error when the schema isn't one; agents are refused at load by the same call. */
export function outputCheck(schema: Json): OutputCheck {
  const validate = compile(schema);
  return (text) => {
    const value = parseLoosely(text);
    if (value === undefined) return { ok: false, problems: ["it is not JSON"] };
    if (validate(value)) return { ok: true, value: toJson(value) };
    return { ok: false, problems: (validate.errors ?? []).slice(0, PROBLEMS_MAX).map(problem) };
  };
}

function compile(schema: Json): ValidateFunction {
  return new Ajv2020({ strict: false, allErrors: true }).compile(schema as object);
}

/** Models like to wrap JSON in a fence, or in a sentence; taking it out is cheaper than another turn. */
function parseLoosely(text: string): unknown {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n```/.exec(text)?.[1];
  const first = text.search(/[[{]/);
  const last = Math.max(text.lastIndexOf("]"), text.lastIndexOf("}"));
  const inside = first >= 0 && last > first ? text.slice(first, last + 1) : undefined;
  for (const candidate of [text, fenced, inside]) {
    if (candidate === undefined) continue;
    try {
      return JSON.parse(candidate);
    } catch {
      // the next candidate
    }
  }
  return undefined;
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
