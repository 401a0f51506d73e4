// From zod to the JSON Schema that a model sees. It is part of the digest contract (I6), so it must come out the same in every worker, on every day.
import * as z from "zod";
import { messageOf } from "../core/errors.ts";
import { type JsonObject, toJson } from "../core/json.ts";

export type InputSchema =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * The schema of what goes *in* (before transforms), JSON Schema draft 2020-12 with an object at its root. `default` keywords are left out: a default may be
 * computed (`() => Date.now()`), which can't be told from a fixed one, and a schema that differs by the day would cut every run. Name a default in the
 * field's description if the model should know it.
 */
export function inputSchemaOf(input: z.ZodObject): InputSchema {
  if (!isZod4(input)) return { ok: false, problems: ["input must be z.object({…}) of zod 4"] };
  if (input._zod.def.type !== "object") {
    return {
      ok: false,
      problems: [
        `input must be z.object({…}) itself, not ${input._zod.def.type} (put transforms on its fields, or into the handler)`,
      ],
    };
  }
  const problems: string[] = [];
  try {
    const generated = z.toJSONSchema(input, {
      target: "draft-2020-12",
      io: "input",
      unrepresentable: ({ zodSchema, path }) => {
        if (isDefault(zodSchema)) return "any";
        problems.push(unsayable(zodSchema, path));
        return {};
      },
      override: ({ zodSchema, jsonSchema }) => {
        delete jsonSchema.default;
        if (ignoresFlags(zodSchema)) dropPatterns(jsonSchema);
      },
    });
    if (problems.length > 0) return { ok: false, problems };
    return { ok: true, schema: withObjectRoot(toJson(generated) as JsonObject) };
  } catch (thrown) {
    return { ok: false, problems: [...problems, `input: ${messageOf(thrown)}`] };
  }
}

const isZod4 = (value: unknown): boolean => typeof value === "object" && value !== null && "_zod" in value;

/** A default that can't be written down: it is left out anyway. */
const isDefault = (schema: z.core.$ZodType): boolean => ["default", "prefault", "catch"].includes(schema._zod.def.type);

/** A schema with an id of its own comes as a reference into $defs; providers want to see the object. */
function withObjectRoot(generated: JsonObject): JsonObject {
  const { $schema: _dialect, ...schema } = generated;
  const name = typeof schema.$ref === "string" ? /^#\/\$defs\/(.+)$/.exec(schema.$ref)?.[1] : undefined;
  if (name === undefined) return schema;
  const { $ref: _ref, ...rest } = schema;
  return toJson({ ...rest, ...((schema.$defs as JsonObject)[name] as JsonObject) }) as JsonObject;
}

/** JSON Schema's patterns have no flags: a case-insensitive one would forbid what the tool accepts. The tool's own check stays. */
function ignoresFlags(schema: z.core.$ZodType): boolean {
  const checks = schema._zod.def.checks ?? [];
  return checks.some((check) => {
    const { pattern } = check._zod.def as { pattern?: RegExp };
    return pattern instanceof RegExp && /[ims]/.test(pattern.flags);
  });
}

function dropPatterns(schema: z.core.JSONSchema.BaseSchema): void {
  delete schema.pattern;
  if (schema.allOf?.every((item) => Object.keys(item).join() === "pattern")) delete schema.allOf;
}

const KINDS: Readonly<Record<string, string>> = {
  date: "a Date (take z.iso.datetime() and make the Date in the handler)",
  bigint: "a BigInt (take a text of digits)",
  map: "a Map (take z.record)",
  set: "a Set (take z.array)",
  function: "a function",
  symbol: "a symbol",
  undefined: "undefined (make the field optional instead)",
  void: "void (leave the field out)",
  nan: "NaN",
  file: "a File",
  promise: "a promise",
  custom: "a custom type (z.custom, z.instanceof)",
  transform: "a transform without an input type (put a schema before it: z.string().transform(…))",
  literal: "a literal that is undefined or a BigInt",
};

function unsayable(schema: z.core.$ZodType, path: readonly (string | number)[]): string {
  const kind = schema._zod.def.type;
  return `${placeText(path)} is ${KINDS[kind] ?? `of a kind (${kind})`}, which JSON Schema can't say`;
}

/** From a place in the JSON Schema to one in the input: `input.tree[].when`. */
function placeText(path: readonly (string | number)[]): string {
  let text = "input";
  for (let i = 0; i < path.length; i++) {
    const part = path[i];
    if (part === "properties") text += `.${path[++i]}`;
    else if (part === "items") text += "[]";
    else if (part === "prefixItems") text += `[${path[++i]}]`;
    else if (part === "additionalProperties") text += ".*";
    else if (part === "anyOf" || part === "oneOf" || part === "allOf") text += ` (form ${Number(path[++i]) + 1})`;
  }
  return text;
}
