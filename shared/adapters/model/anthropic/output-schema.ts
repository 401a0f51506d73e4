// An output schema in the part of JSON Schema that Anthropic can hold an answer to (platform.claude.com/docs/en/build-with-claude/structured-outputs).
// Rules that only narrow a value are left out: the engine checks every answer against the whole schema, and the system prompt quotes it.
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { ANTHROPIC_SCHEMA_OPTIONAL_MAX, ANTHROPIC_SCHEMA_UNIONS_MAX } from "../../../core/limits.ts";

const NARROWING = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minItems",
  "maxItems",
  "uniqueItems",
];
const SAID = ["$schema", "$id", "title", "default", "examples", "deprecated", "readOnly", "writeOnly"];
const LEFT_OUT = new Set([...NARROWING, ...SAID, "$defs", "definitions", "discriminator"]);
const KEYS = new Set([
  "type",
  "description",
  "enum",
  "const",
  "anyOf",
  "properties",
  "required",
  "additionalProperties",
  "items",
]);
const TYPES = new Set<Json>(["object", "array", "string", "integer", "number", "boolean", "null"]);

/** Null: an answer can't be held to it. */
export function heldSchema(schema: Json): JsonObject | null {
  if (!isObject(schema)) return null;
  const held = simplified(schema, { root: schema, within: new Set() });
  if (!isObject(held) || held.type !== "object" || !holds(held)) return null;
  return count(held, optionals) <= ANTHROPIC_SCHEMA_OPTIONAL_MAX && count(held, unions) <= ANTHROPIC_SCHEMA_UNIONS_MAX
    ? held
    : null;
}

interface Place {
  readonly root: JsonObject;
  /** References that are being followed: what holds itself stays a reference, and isn't held to. */
  readonly within: ReadonlySet<string>;
}

/** Without what only narrows, references followed, every object closed that doesn't say that it is open. */
function simplified(schema: Json, place: Place): Json {
  if (!isObject(schema)) return schema;
  const { $ref: ref, oneOf, ...given } = schema;
  if (typeof ref === "string") {
    const target = place.within.has(ref) ? undefined : definition(place.root, ref);
    return target === undefined
      ? { $ref: ref }
      : simplified(target, { ...place, within: new Set([...place.within, ref]) });
  }
  const entries = Object.entries(oneOf === undefined ? given : { ...given, anyOf: oneOf })
    .filter(([key]) => !LEFT_OUT.has(key))
    .map(([key, value]): [string, Json] => [key, below(key, value, place)]);
  const closed = given.type === "object" && given.properties !== undefined && given.additionalProperties === undefined;
  return { ...Object.fromEntries(entries), ...(closed ? { additionalProperties: false } : {}) };
}

function below(key: string, value: Json, place: Place): Json {
  if (key === "anyOf" && Array.isArray(value)) return value.map((one) => simplified(one, place));
  if (key === "items") return simplified(value, place);
  if (key !== "properties" || !isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, simplified(one, place)]));
}

function definition(root: JsonObject, ref: string): Json | undefined {
  const [, where = "", name = ""] = /^#\/(\$defs|definitions)\/([^/~]+)$/.exec(ref) ?? [];
  const definitions = root[where];
  return isObject(definitions) ? definitions[name] : undefined;
}

function holds(schema: Json): boolean {
  if (!isObject(schema) || !Object.keys(schema).every((key) => KEYS.has(key))) return false;
  const { type, anyOf, enum: choices, const: only, additionalProperties } = schema;
  if (type === undefined && anyOf === undefined && choices === undefined && only === undefined) return false; // anything at all
  if (type !== undefined && !(Array.isArray(type) ? type : [type]).every((one) => TYPES.has(one))) return false;
  if (Array.isArray(type) && (type.includes("object") || type.includes("array"))) return false;
  if (type === "object" && (additionalProperties !== false || schema.properties === undefined)) return false;
  if (type === "array" && schema.items === undefined) return false;
  const values = [...(Array.isArray(choices) ? choices : []), ...(only === undefined ? [] : [only])];
  return values.every((value) => typeof value !== "object" || value === null) && children(schema).every(holds);
}

const children = (schema: JsonObject): readonly Json[] => [
  ...(isObject(schema.properties) ? Object.values(schema.properties) : []),
  ...(schema.items === undefined ? [] : [schema.items]),
  ...(Array.isArray(schema.anyOf) ? schema.anyOf : []),
];

const count = (schema: Json, own: (schema: JsonObject) => number): number =>
  isObject(schema) ? children(schema).reduce<number>((sum, one) => sum + count(one, own), own(schema)) : 0;

const optionals = ({ properties, required }: JsonObject): number => {
  const names = isObject(properties) ? Object.keys(properties) : [];
  return names.filter((name) => !(Array.isArray(required) && required.includes(name))).length;
};
const unions = ({ anyOf, type }: JsonObject): number => (anyOf !== undefined || Array.isArray(type) ? 1 : 0);
