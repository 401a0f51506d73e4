// What Messages refuses in JSON Schemas: of a tool's input, and of an answer that is to be held to one.
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Body } from "./shape.ts";

interface Schema {
  readonly [key: string]: unknown;
}

export function schemaRules({ tools = [], output_config: config }: Body): string | null {
  for (const [i, tool] of tools.entries()) {
    const problem = "input_schema" in tool ? toolProblem(tool.input_schema as Schema) : null;
    if (problem !== null) return `tools.${i}.custom.input_schema: ${problem}`;
  }
  const problem = config?.format === undefined ? null : outputProblem(config.format.schema as Schema);
  return problem === null ? null : `output_config.format.schema: ${problem}`;
}

function toolProblem(schema: Schema): string | null {
  if (["oneOf", "allOf", "anyOf"].some((key) => key in schema))
    return "input_schema does not support oneOf, allOf, or anyOf at the top level";
  const key = propertyNames(schema).find((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name));
  if (key !== undefined) return `Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$': ${key}`;
  return compiled(JSON.stringify(schema));
}

/** By its text: compiling takes milliseconds, and every request brings the same schemas. */
const known = new Map<string, string | null>();

function compiled(text: string): string | null {
  const before = known.get(text);
  if (before !== undefined) return before;
  let problem: string | null = null;
  try {
    new Ajv2020({ strict: false, logger: false }).compile(JSON.parse(text));
  } catch (thrown) {
    problem = `JSON schema is invalid. It must match JSON Schema draft 2020-12: ${String(thrown)}`;
  }
  known.set(text, problem);
  return problem;
}

function propertyNames(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { properties } = value as Schema;
  const own =
    typeof properties === "object" && properties !== null && !Array.isArray(value) ? Object.keys(properties) : [];
  return [...own, ...Object.values(value).flatMap(propertyNames)];
}

const HELD = new Set(
  "type description title default enum const anyOf allOf $ref $defs definitions properties required additionalProperties items format minItems pattern".split(
    " ",
  ),
);

function outputProblem(schema: Schema): string | null {
  const optional = { count: 0 };
  const problem = held(schema, optional);
  if (problem !== null) return problem;
  return optional.count > 24 ? "Schemas contain too many optional parameters" : null;
}

function held(value: unknown, optional: { count: number }): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "is no schema";
  const schema = value as Schema;
  const unknown = Object.keys(schema).find((key) => !HELD.has(key));
  if (unknown !== undefined) return `For '${String(schema.type)}' type, property '${unknown}' is not supported`;
  if (schema.type === "object" && schema.additionalProperties !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  const properties = (schema.properties ?? {}) as Schema;
  const required = (schema.required ?? []) as readonly string[];
  optional.count += Object.keys(properties).filter((name) => !required.includes(name)).length;
  const below = [
    ...Object.values(properties),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...((schema.anyOf ?? []) as readonly unknown[]),
  ];
  for (const one of below) {
    const problem = held(one, optional);
    if (problem !== null) return problem;
  }
  return null;
}
