// Tools as Converse takes them. A history with tool blocks needs a definition of tools (c8), whether or not any are offered now.
import type { Tool, ToolInputSchema, Message as WireMessage } from "@aws-sdk/client-bedrock-runtime";
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { ToolSchema } from "../../../core/messages.ts";
import { namesFit, withSchemaInWords } from "../tool-words.ts";
import type { Traits } from "./traits.ts";

type Document = ToolInputSchema.JsonMember["json"];

/** Stands for what a tool was that isn't offered any more. */
const GONE = "This tool was used earlier and can't be called any more.";

/** Empty: none are offered and none were used. */
export function wireTools(tools: readonly ToolSchema[], messages: readonly WireMessage[], traits: Traits): Tool[] {
  const offered = tools.map(({ name, description, inputSchema }) => tool(name, description, inputSchema, traits));
  if (offered.length > 0) return offered;
  return usedNames(messages).map((name) => tool(name, GONE, { type: "object", properties: {} }, traits));
}

/** What a model refuses of a schema is said in the description: arguments are checked here in any case. */
function tool(name: string, description: string, inputSchema: Json, traits: Traits): Tool {
  const json = (traits.bareSchemas ? bareSchema(inputSchema) : inputSchema) as Document;
  const whole = !traits.closedSchemas && !traits.bareSchemas;
  if (whole || isPlain(inputSchema, traits.closedSchemas)) return spec(name, description, json);
  return spec(name, withSchemaInWords(description, inputSchema), traits.bareSchemas ? json : { type: "object" });
}

const spec = (name: string, description: string, json: Document): Tool => ({
  toolSpec: { name, ...(description.trim() === "" ? {} : { description }), inputSchema: { json } },
});

const ALTERNATIVES = ["anyOf", "oneOf", "allOf"];

const isPlain = (schema: Json, names: boolean): boolean =>
  isObject(schema) && !ALTERNATIVES.some((key) => key in schema) && (!names || namesFit(schema));

function usedNames(messages: readonly WireMessage[]): string[] {
  const names = messages.flatMap(({ content = [] }) => content.flatMap((block) => block.toolUse?.name ?? []));
  return [...new Set(names)];
}

/**
 * Nova refuses any key at the root but these three, `$schema` and `$defs` too. What refers to a definition gets its text instead; within itself, where
 * that has no end, a schema that allows everything. What is lost makes no call wrong: arguments are checked here as well.
 */
export function bareSchema(schema: Json): Json {
  if (!isObject(schema)) return { type: "object", properties: {} };
  const { properties, required } = schema;
  const definitions: Record<string, Json> = {};
  for (const place of ["$defs", "definitions"])
    for (const [name, definition] of Object.entries(isObject(schema[place]) ? schema[place] : {}))
      definitions[`#/${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`] = definition;
  return {
    type: "object",
    properties: properties === undefined ? {} : inlined(properties, definitions, new Set()),
    ...(Array.isArray(required) && required.length > 0 ? { required } : {}),
  };
}

function inlined(value: Json, definitions: Readonly<Record<string, Json>>, within: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions, within));
  if (!isObject(value)) return value;
  const { $ref: ref, ...rest } = value;
  if (typeof ref !== "string") return inlinedEntries(value, definitions, within);
  const definition = within.has(ref) ? undefined : definitions[ref];
  const found = definition === undefined ? {} : inlined(definition, definitions, new Set([...within, ref]));
  return { ...(isObject(found) ? found : {}), ...inlinedEntries(rest, definitions, within) };
}

const inlinedEntries = (
  value: JsonObject,
  definitions: Readonly<Record<string, Json>>,
  within: ReadonlySet<string>,
): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inlined(item, definitions, within)]));
