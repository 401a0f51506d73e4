import { facets } from "./facets.ts";
import { isList, isObject, type Json, type JsonObject } from "./json.ts";
import { MAX_PATTERN_CHARS, MAX_SCHEMA_DEPTH_LEVELS, MAX_TOPICS_COUNT } from "./limits.ts";
import { keyPhrase, stems } from "./words.ts";

/** What a value is made from: the text that was asked, and the prose for members that want prose. */
export interface Source {
  readonly text: string;
  readonly prose: string;
}

const PROSE_NAMES = /answer|body|content|message|summary|report|description|explanation|reason|comment|notes|text$/i;

export const IDENTIFIER_NAME = /^(?:id|code|key|.*(?:_id|Id|_code|Code|_key|Key|_number|Number))$/;
export const EXPRESSION_NAME = /^(?:expression|formula|calculation)$/i;
const MONEY_NAME = /amount|price|total|cost|sum|cents|money/i;

/** `A-1002`: letters and digits in one word. */
export const identifierIn = (text: string): string | undefined =>
  /(?<![\p{L}\p{N}])(?=[\p{L}_-]*\p{N})(?=[\p{N}_-]*\p{L})[\p{L}\p{N}](?:[\p{L}\p{N}_-]*[\p{L}\p{N}])?/u.exec(
    text,
  )?.[0];

/** `12 * (3 + 4)`: the longest piece of arithmetic, with at least one operator. */
export const expressionIn = (text: string): string | undefined =>
  (text.match(/[\d(][\d\s.()+*/^%-]*[\d)]/g) ?? [])
    .filter((piece) => /\d\s*\)*\s*[+*/^%-]\s*\(*\s*\d/.test(piece))
    .sort((a, b) => b.length - a.length)[0];

/** A value under a JSON Schema. All members of an object are there, or only the required ones. */
export function fill(schema: Json, source: Source, members: "all" | "required"): Json {
  const root = isObject(schema) ? schema : {};
  return fillAt(root, "", { source, members, root }, 0);
}

interface Filling {
  readonly source: Source;
  readonly members: "all" | "required";
  readonly root: JsonObject;
}

function fillAt(given: Json | undefined, name: string, filling: Filling, depth: number): Json {
  const schema = resolve(given, filling.root);
  if (depth > MAX_SCHEMA_DEPTH_LEVELS) return null;
  if (schema.const !== undefined) return schema.const;
  if (isList(schema.enum)) return choose(schema.enum, filling.source.text);
  const branch = firstBranch(schema);
  if (branch !== undefined) return fillAt(branch, name, filling, depth + 1);
  switch (typeOf(schema)) {
    case "object":
      return fillObject(schema, filling, depth);
    case "array":
      return fillArray(schema, name, filling, depth);
    case "integer":
    case "number":
      return fillNumber(schema, name, filling.source.text);
    case "boolean":
      return stems(name.replace(/_|(?=\p{Lu})/gu, " ")).every((word) => stems(filling.source.text).includes(word));
    case "null":
      return null;
    default:
      return fillString(schema, name, filling.source);
  }
}

/** Follows `$ref` within the document; `allOf` counts as one schema. */
function resolve(given: Json | undefined, root: JsonObject): JsonObject {
  let schema = isObject(given) ? given : {};
  for (let hops = 0; hops < MAX_SCHEMA_DEPTH_LEVELS && typeof schema.$ref === "string"; hops++) {
    const path = schema.$ref.replace(/^#\/?/, "").split("/").filter(Boolean);
    const target = path.reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), root);
    schema = isObject(target) ? target : {};
  }
  return isList(schema.allOf) ? Object.assign({}, schema, ...schema.allOf.map((part) => resolve(part, root))) : schema;
}

function firstBranch(schema: JsonObject): Json | undefined {
  const branches = isList(schema.anyOf) ? schema.anyOf : isList(schema.oneOf) ? schema.oneOf : [];
  return branches.find((branch) => !(isObject(branch) && branch.type === "null")) ?? branches[0];
}

function typeOf(schema: JsonObject): string {
  if (typeof schema.type === "string") return schema.type;
  if (isList(schema.type)) return String(schema.type.find((type) => type !== "null") ?? "null");
  if (isObject(schema.properties)) return "object";
  return schema.items === undefined ? "string" : "array";
}

function fillObject(schema: JsonObject, filling: Filling, depth: number): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = isList(schema.required) ? schema.required.map(String) : [];
  const names = filling.members === "all" ? new Set([...Object.keys(properties), ...required]) : new Set(required);
  return Object.fromEntries([...names].map((name) => [name, fillAt(properties[name], name, filling, depth + 1)]));
}

function fillArray(schema: JsonObject, name: string, filling: Filling, depth: number): Json {
  const most = typeof schema.maxItems === "number" ? schema.maxItems : MAX_TOPICS_COUNT;
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  if (most < 1) return [];
  const topics = facets(filling.source.text, Math.min(most, MAX_TOPICS_COUNT));
  const texts = topics.length > 0 ? topics : [filling.source.text];
  const wanted = [...texts, ...Array.from({ length: Math.max(0, least - texts.length) }, () => texts[0] ?? "")];
  const items = wanted.map((text) =>
    fillAt(schema.items, name, { ...filling, source: { text, prose: text } }, depth + 1),
  );
  if (typeOf(resolve(schema.items, filling.root)) === "string" || schema.uniqueItems === true) return distinct(items);
  return items;
}

/** Padding to `minItems` may repeat a text: each repetition gets a number. */
function distinct(items: readonly Json[]): Json {
  const seen = new Map<Json, number>();
  return items.map((item) => {
    const count = (seen.get(item) ?? 0) + 1;
    seen.set(item, count);
    return count > 1 && typeof item === "string" ? `${item} (${count})` : item;
  });
}

/** A number that stands by itself: the 1002 of `A-1002` is none. */
const NUMBER = /(?<![\p{L}\p{N}_.-])-?\d+(?:\.\d+)?/gu;
const PRICES = [
  /[$€£]\s?(\d+(?:\.\d+)?)/,
  /(?<![\p{L}\p{N}_.-])(\d+(?:\.\d+)?)\s?(?:[$€£]|euros?\b|dollars?\b|eur\b|usd\b)/iu,
];

function fillNumber(schema: JsonObject, name: string, text: string): number {
  const integer = schema.type === "integer";
  const low = typeof schema.minimum === "number" ? schema.minimum : Number.NEGATIVE_INFINITY;
  const high = typeof schema.maximum === "number" ? schema.maximum : Number.POSITIVE_INFINITY;
  const prices = MONEY_NAME.test(name) ? PRICES.flatMap((price) => price.exec(text)?.[1] ?? []) : [];
  const numbers = [...prices, ...(text.match(NUMBER) ?? [])].map(Number);
  const fitting = numbers.find((n) => n >= low && n <= high && (!integer || Number.isInteger(n)));
  return fitting ?? Math.min(Math.max(0, low), high);
}

function fillString(schema: JsonObject, name: string, source: Source): string {
  const email = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(source.text)?.[0];
  const uri = /https?:\/\/[^\s"'<>)]+/.exec(source.text)?.[0];
  if (email !== undefined && (schema.format === "email" || /^(?:to|email|recipient|address)$/i.test(name)))
    return email;
  if (uri !== undefined && (/^ur[il]/.test(String(schema.format)) || /ur[il]$/i.test(name))) return uri;
  const sought = soughtIn(schema, name, source.text);
  if (sought !== undefined) return sought;
  const most = typeof schema.maxLength === "number" ? schema.maxLength : Number.POSITIVE_INFINITY;
  // The item of a list of strings is a whole topic; elsewhere a name is short and prose is long.
  const text = PROSE_NAMES.test(name) ? source.prose : shortOf(source);
  return text.length > most ? text.slice(0, most) : text;
}

/** The piece of the text that a pattern or a name asks for. */
function soughtIn(schema: JsonObject, name: string, text: string): string | undefined {
  if (typeof schema.pattern === "string" && schema.pattern.length <= MAX_PATTERN_CHARS) {
    const found = matchOf(schema.pattern.replace(/^\^|\$$/g, ""), text);
    if (found !== undefined) return found;
  }
  if (EXPRESSION_NAME.test(name)) return expressionIn(text)?.trim();
  return IDENTIFIER_NAME.test(name) ? identifierIn(text) : undefined;
}

function matchOf(pattern: string, text: string): string | undefined {
  try {
    return new RegExp(pattern, "u").exec(text)?.[0];
  } catch {
    return undefined; // not a pattern of this language
  }
}

function shortOf(source: Source): string {
  return source.prose === source.text ? source.text.trim() : keyPhrase(source.text);
}

function choose(values: readonly Json[], text: string): Json {
  const words = stems(text);
  const named = values.find((value) => typeof value === "string" && stems(value).some((word) => words.includes(word)));
  return named ?? values[0] ?? null;
}
