// What of a tool's schema a provider doesn't take is said in its description: arguments are checked by the engine in any case.
import { canonical, isObject, type Json } from "../../core/json.ts";

const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Whether all names of properties are such as Claude takes, wherever it is served. */
export function namesFit(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.every(namesFit);
  if (!isObject(schema)) return true;
  const { properties } = schema;
  if (isObject(properties) && !Object.keys(properties).every((name) => PROPERTY_NAME.test(name))) return false;
  return Object.values(schema).every(namesFit);
}

export const withSchemaInWords = (description: string, schema: Json): string =>
  [description, `The arguments must be valid under this JSON Schema: ${canonical(schema)}`]
    .filter((text) => text.trim() !== "")
    .join("\n\n");
