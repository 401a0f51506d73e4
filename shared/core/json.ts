// JSON as the log keeps it. What is first used is what a replay reads: a value is brought into this form before anything sees it.

import { ERROR_PATH_CHARS, JSON_DEPTH_MAX } from "./limits.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A value that JSON can't hold; `path` names the place, as in `$.rows[3].handler`. */
export class NotJson extends Error {
  readonly path: string;
  constructor(path: string, what: string) {
    const place = path.length <= ERROR_PATH_CHARS ? path : `${path.slice(0, ERROR_PATH_CHARS)}…`.toWellFormed();
    super(`${place} is ${what}, which JSON can't hold`);
    this.name = "NotJson";
    this.path = path;
  }
}

/** Order of object keys everywhere: by UTF-16 code unit, as RFC 8785 says (JavaScript's own comparison of strings). */
const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Sets a property as data even where its name is `__proto__`. */
const put = (target: Record<string, Json>, key: string, value: Json): void => {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  else target[key] = value;
};

/**
 * The JSON form of any value, keys sorted, detached from the original. The rules:
 * `undefined` is left out of objects and is null elsewhere; `-0` is 0; NaN and infinities are null; Date and whatever has `toJSON` is what that says;
 * a Map with string keys is an object, a Set an array.
 * @throws NotJson for BigInt, functions, symbols, cycles, Maps with other keys, generators and async iterators, binary data and more than JSON_DEPTH_MAX levels, with the path of the place.
 * What a getter or `toJSON` throws passes through.
 */
export function toJson(value: unknown): Json {
  return convert(value, "$", new Set());
}

function convert(value: unknown, path: string, above: Set<object>): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value + 0 : null; // -0 + 0 is 0
    case "undefined":
      return null;
    case "bigint":
      throw new NotJson(path, "a BigInt");
    case "function":
      throw new NotJson(path, "a function");
    case "symbol":
      throw new NotJson(path, "a symbol");
    case "object":
      return value === null ? null : convertObject(value, path, above);
  }
}

function convertObject(value: object, path: string, above: Set<object>): Json {
  if (above.has(value)) throw new NotJson(path, "part of a cycle");
  if (above.size >= JSON_DEPTH_MAX) throw new NotJson(path, `below ${JSON_DEPTH_MAX} levels of nesting`);
  if (value instanceof Promise) throw new NotJson(path, "a promise (an await is missing)");
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    throw new NotJson(path, "binary data (encode it, or attach a file)");
  above.add(value);
  try {
    if ("toJSON" in value && typeof value.toJSON === "function") return convert(value.toJSON(), path, above);
    if (Symbol.asyncIterator in value || Object.prototype.toString.call(value) === "[object Generator]")
      throw new NotJson(path, "an iterator (collect what it yields into a list)");
    if (Array.isArray(value)) return Array.from(value, (item, i) => convert(item, `${path}[${i}]`, above));
    if (value instanceof Set) return [...value].map((item, i) => convert(item, `${path}[${i}]`, above));
    if (value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt)
      return convert(value.valueOf(), path, above);
    return convertEntries(value instanceof Map ? mapEntries(value, path) : Object.entries(value), path, above);
  } finally {
    above.delete(value);
  }
}

function mapEntries(map: Map<unknown, unknown>, path: string): [string, unknown][] {
  return [...map].map(([key, item]) => {
    if (typeof key !== "string") throw new NotJson(path, `a Map with a key of type ${typeof key}`);
    return [key, item];
  });
}

function convertEntries(entries: [string, unknown][], path: string, above: Set<object>): Json {
  const result: Record<string, Json> = {};
  for (const [key, item] of entries.sort(([a], [b]) => byCodeUnit(a, b))) {
    if (item !== undefined) put(result, key, convert(item, `${path}.${key}`, above));
  }
  return result;
}

/** Canonical JSON (RFC 8785): the text that digests are made of. Lone surrogates are written as escapes, which is well-formed JSON text. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const object = value as JsonObject;
    const keys = Object.keys(object).sort(byCodeUnit);
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(object[key] as Json)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Bytes of the value as JSON text in UTF-8: what limits are held against. */
export const jsonBytes = (value: Json): number => utf8Bytes(JSON.stringify(value));

/** Bytes in UTF-8, without making them. A lone surrogate counts three, as its replacement does. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      bytes += 2;
      i++;
    } else bytes += 2;
  }
  return bytes;
}

// What jsonb refuses (U+0000, lone surrogates), in keys too, is stored as ESCAPE + four hex digits; ESCAPE itself likewise, so text that already
// looks escaped comes back as it was. U+E0FF is of the private use area: nobody's text pays for it.
const ESCAPE = "\uE0FF";
// biome-ignore lint/suspicious/noControlCharactersInRegex: U+0000 is what jsonb refuses
const UNSTORABLE = /[\u0000\uE0FF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const STORED = /\uE0FF([0-9a-f]{4})/g;

/** The key that marks a field which lies in the blobs table. No stored key of a user's can equal it: theirs have four hex digits after ESCAPE. */
export const BLOB_KEY = `${ESCAPE}blob`;

/** The key that marks a sealed value (sealing.ts), likewise. */
export const SEALED_KEY = `${ESCAPE}sealed`;

const escapeText = (text: string): string =>
  text.replace(UNSTORABLE, (unit) => ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, "0"));
const unescapeText = (text: string): string =>
  text.replace(STORED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** The form that goes into a jsonb column (c1). Values without a special character are returned as they are, not copied. */
export const toStored = (value: Json): Json => mapText(value, escapeText);

/** The value as it was before `toStored`, its keys in our order again (jsonb orders them by length). */
export const fromStored = (value: Json): Json => sortKeys(mapText(value, unescapeText));

function mapText(value: Json, map: (text: string) => string): Json {
  if (typeof value === "string") return map(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapText(item, map));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  const entries = Object.entries(value as JsonObject);
  const mapped = entries.map(([key, item]) => [map(key), mapText(item, map)] as const);
  if (mapped.every(([key, item], i) => key === entries[i]?.[0] && item === entries[i]?.[1])) return value;
  const result: Record<string, Json> = {};
  for (const [key, item] of mapped) put(result, key, item);
  return result;
}

function sortKeys(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const result: Record<string, Json> = {};
  const object = value as JsonObject;
  for (const key of Object.keys(object).sort(byCodeUnit)) put(result, key, sortKeys(object[key] as Json));
  return result;
}

/** Text that may go out to a provider: lone surrogates become U+FFFD (c2). */
export const wellFormed = (text: string): string => text.toWellFormed();

/** The same for every text of a value, keys too; of keys that become equal the last one counts. */
export const wellFormedJson = (value: Json): Json => mapText(value, wellFormed);
