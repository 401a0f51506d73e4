import { createHash } from "node:crypto";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** Keys sorted by UTF-16 unit, no white space: equal values give equal text. */
export function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join(",")}]`;
  if (isObject(value)) {
    const members = Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/**
 * The JSON value that a text is, or the object or list that makes up most of it. The share matters: prose with a
 * bracketed number in it is prose.
 */
export function jsonIn(text: string): Json | undefined {
  const whole = parseJson(text);
  if (whole !== undefined) return whole;
  const start = text.search(/[[{]/);
  const end = Math.max(text.lastIndexOf("]"), text.lastIndexOf("}"));
  return start >= 0 && end - start > text.length / 2 ? parseJson(text.slice(start, end + 1)) : undefined;
}

export interface Leaf {
  readonly key: string;
  readonly text: string;
}

/** The strings of a JSON value with the name of the member that holds each, in order; items of a list have its name. */
export function stringLeaves(json: Json, key = ""): Leaf[] {
  if (typeof json === "string") return [{ key, text: json }];
  if (isList(json)) return json.flatMap((item) => stringLeaves(item, key));
  if (isObject(json)) return Object.entries(json).flatMap(([name, member]) => stringLeaves(member, name));
  return [];
}
