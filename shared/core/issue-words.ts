// What a schema has against a value, in words of ours: they go to models and into logs, and a library's wording changes with its versions.
import type * as z from "zod";

const PROBLEMS_MAX = 8;

/** A value's place as an author writes it: `topics[0].name`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}

/** Zod's error map. A message that the schema's author gave goes before it. */
export const issueWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? "is missing"
        : `must be ${kindName(issue.expected)}${Number.isNaN(issue.input) ? "" : `, not ${kindOf(issue.input)}`}`;
    case "invalid_value":
      return issue.input === undefined ? "is missing" : `must be ${oneOf(issue.values)}`;
    case "too_small":
      return sized(
        issue.origin,
        issue.exact ? "exactly" : issue.inclusive === false ? "more than" : "at least",
        issue.minimum,
      );
    case "too_big":
      return sized(
        issue.origin,
        issue.exact ? "exactly" : issue.inclusive === false ? "less than" : "at most",
        issue.maximum,
      );
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return `must not have ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
    case "invalid_format":
      return formatWords(issue.format, issue.pattern);
    case "invalid_key":
      return "has a key that isn't allowed";
    case "invalid_element":
      return "has an element that isn't allowed";
    case "invalid_union":
      return unionWords(issue);
    default:
      return "is not accepted";
  }
};

/** `topics[0].name: must be a string, not a number; limit: is missing`. `whole` names the value itself. */
export function describeIssues(issues: readonly z.core.$ZodIssue[], whole: string): string {
  const shown = issues.slice(0, PROBLEMS_MAX).map((issue) => `${pathText(issue.path) || whole}: ${issue.message}`);
  const left = issues.length - shown.length;
  return [...shown, ...(left > 0 ? [`and ${left} more`] : [])].join("; ");
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
  null: "null",
  never: "left out",
  nonoptional: "given",
};
const kindName = (expected: string): string => KINDS[expected] ?? `of type ${expected}`;

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" && !Number.isInteger(value)) return Number.isFinite(value) ? "a fraction" : "no number";
  return KINDS[typeof value] ?? `of type ${typeof value}`;
}

const oneOf = (values: readonly unknown[]): string => {
  const texts = values.map((value) => (typeof value === "string" ? JSON.stringify(value) : String(value)));
  return texts.length === 1 ? String(texts[0]) : `one of ${texts.join(", ")}`;
};

function sized(origin: string, how: string, bound: number | bigint): string {
  if (origin === "string") return `must have ${how} ${bound} character${bound === 1 ? "" : "s"}`;
  if (origin === "array" || origin === "set" || origin === "map")
    return `must have ${how} ${bound} item${bound === 1 ? "" : "s"}`;
  if (origin === "object" || origin === "record") return `must have ${how} ${bound} key${bound === 1 ? "" : "s"}`;
  return `must be ${how} ${bound}`;
}

const formatWords = (format: string, pattern: string | undefined): string =>
  format === "regex" ? `must match ${pattern ?? "a pattern"}` : `must be a valid ${format.replaceAll("_", " ")}`;

function unionWords(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  if ("options" in issue && Array.isArray(issue.options)) return `must be ${oneOf(issue.options)}`;
  if (issue.input === undefined) return "is missing";
  const nearest = issue.errors
    .filter((branch) => branch.length > 0)
    .sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0];
  if (nearest === undefined) return "fits none of the allowed forms, or more than one";
  return `fits none of the allowed forms (nearest: ${describeIssues(nearest, "it")})`;
}

/** The form that the value follows furthest is the one that was meant. */
const depth = (issues: readonly z.core.$ZodIssue[]): number => Math.max(...issues.map((issue) => issue.path.length));
