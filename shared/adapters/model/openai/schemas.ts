// JSON Schemas as OpenAI takes them for tools and answers where they aren't enforced (`strict: false`). What it refuses is taken out: arguments and answers are
// checked by the engine in any case.
import { canonical, isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { OPENAI_TOOL_DESCRIPTION_CHARS } from "../../../core/limits.ts";
import type { ToolSchema } from "../../../core/messages.ts";

const REFUSED_AT_ROOT = ["anyOf", "oneOf", "allOf", "enum", "const", "not"];

export interface WireFunction {
  readonly name: string;
  /** Left out: it has none. */
  readonly description?: string;
  readonly parameters: Record<string, unknown>;
}

/** A root of alternatives becomes an object with the properties of all of them; what that loses is said in the description, where it fits. */
export function wireFunction({ name, description, inputSchema }: ToolSchema): WireFunction {
  const plain = isPlainRoot(inputSchema);
  const said = `The arguments must be valid under this JSON Schema: ${canonical(inputSchema)}`;
  const both = [description, said].filter((text) => text.trim() !== "").join("\n\n");
  const words = plain || both.length > OPENAI_TOOL_DESCRIPTION_CHARS ? description : both;
  return {
    name,
    ...(words.trim() === "" ? {} : { description: words }),
    parameters: withItems(plain ? inputSchema : flattened(inputSchema)) as Record<string, unknown>,
  };
}

/** Null: only the system prompt's words can ask for it. */
export const answerSchema = (schema: Json | undefined): Record<string, unknown> | null =>
  schema !== undefined && isPlainRoot(schema) ? (withItems(schema) as Record<string, unknown>) : null;

const isPlainRoot = (schema: Json): boolean =>
  isObject(schema) && schema.type === "object" && !REFUSED_AT_ROOT.some((key) => key in schema);

function flattened(schema: Json): Json {
  if (!isObject(schema)) return { type: "object", properties: {} };
  const { $defs, definitions } = schema;
  return {
    type: "object",
    properties: Object.fromEntries(propertiesIn(schema)),
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

/** Of one name in several alternatives: any of its schemas. */
function propertiesIn(schema: JsonObject): ReadonlyMap<string, Json> {
  const found = new Map<string, Json[]>();
  const gather = (from: Json): void => {
    if (!isObject(from)) return;
    for (const [name, property] of Object.entries(isObject(from.properties) ? from.properties : {}))
      found.set(name, [...(found.get(name) ?? []), property]);
    for (const key of ["anyOf", "oneOf", "allOf"]) for (const branch of listOf(from[key])) gather(branch);
  };
  gather(schema);
  return new Map([...found].map(([name, schemas]) => [name, anyOf(schemas)]));
}

function anyOf(schemas: readonly Json[]): Json {
  const distinct = [...new Map(schemas.map((schema) => [canonical(schema), schema])).values()];
  return distinct.length === 1 ? (distinct[0] as Json) : { anyOf: distinct };
}

const IN_MAPS = new Set(["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"]);

/** "array schema missing items": of tuples too, and of lists of anything. */
function withItems(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withItems);
  if (!isObject(schema)) return schema;
  const mapped = Object.entries(schema).map(([key, value]): [string, Json] => {
    if (key === "enum" || key === "const" || key === "default" || key === "examples") return [key, value];
    if (IN_MAPS.has(key) && isObject(value))
      return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withItems(inner)]))];
    return [key, withItems(value)];
  });
  const lists = schema.type === "array" || listOf(schema.type).includes("array");
  const bare = lists && !isObject(schema.items);
  return Object.fromEntries(bare ? [...mapped.filter(([key]) => key !== "items"), ["items", {}]] : mapped);
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
