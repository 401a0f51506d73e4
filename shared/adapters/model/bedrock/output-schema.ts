// Whether Bedrock can hold an answer to a schema: it takes a part of JSON Schema and refuses requests with the rest. A schema outside of it is left to the
// words of the system prompt and to the check of the answer, which are there in any case.
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";

const KEYS = new Set([
  "$schema",
  "$defs",
  "$ref",
  "title",
  "description",
  "type",
  "enum",
  "const",
  "anyOf",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "format",
  "default",
]);
const FORMATS = new Set(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]);

export function fitsStructuredOutput(schema: Json): boolean {
  if (!isObject(schema) || schema.type !== "object") return false;
  const definitions = isObject(schema.$defs) ? schema.$defs : {};
  return fits(schema, definitions, new Set());
}

function fits(schema: Json, definitions: JsonObject, within: ReadonlySet<string>): boolean {
  if (!isObject(schema)) return false;
  if (!Object.keys(schema).every((key) => KEYS.has(key))) return false;
  const { $ref: ref, type, format, properties = {}, items, anyOf, enum: choices } = schema;
  if (typeof ref === "string") {
    const name = /^#\/\$defs\/([^/~]+)$/.exec(ref)?.[1];
    const definition = name === undefined ? undefined : definitions[name];
    if (definition === undefined || within.has(ref)) return false; // elsewhere, or without end
    return fits(definition, definitions, new Set([...within, ref]));
  }
  if (Array.isArray(type)) return false;
  if (type === "object" && schema.additionalProperties !== false) return false;
  if (format !== undefined && !(typeof format === "string" && FORMATS.has(format))) return false;
  if (Array.isArray(choices) && choices.some((choice) => typeof choice === "object" && choice !== null)) return false;
  const below = [
    ...(isObject(properties) ? Object.values(properties) : []),
    ...(items === undefined ? [] : [items]),
    ...(Array.isArray(anyOf) ? anyOf : []),
  ];
  return below.every((inner) => fits(inner, definitions, within));
}
