import { isList, isObject, type Json, jsonIn } from "./json.ts";

/** A quote that somebody already made, as `"text" (file:line)`. */
export interface Quote {
  readonly text: string;
  readonly file: string;
  readonly line: number;
}

/** The quotes that stand under one heading. A group without quotes is a topic for which nothing was found. */
export interface QuoteGroup {
  readonly label: string;
  readonly quotes: readonly Quote[];
}

export function findQuotes(text: string): Quote[] {
  return [...text.matchAll(/"([^"\n]+)" \(([^()\n"]+):(\d+)\)/g)].map(([, quoted = "", file = "", line = ""]) => ({
    text: quoted,
    file,
    line: Number(line),
  }));
}

export function showQuote({ text, file, line }: Quote): string {
  return `"${text}" (${file}:${line})`;
}

/** Notes sorted by what they are about: by the objects of a JSON text, or by the headings of a plain one. */
export function groupQuotes(text: string): QuoteGroup[] {
  const json = jsonIn(text);
  const isStructure = json !== undefined && (isObject(json) || isList(json));
  return merge(isStructure ? groupsInJson(json, "") : groupsInText(text));
}

/** In an object, a member with quotes is a note; the first other string beside it says what it is about. */
function groupsInJson(json: Json, label: string): QuoteGroup[] {
  if (typeof json === "string") return groupsInText(json, label);
  if (isList(json)) return json.flatMap((item) => groupsInJson(item, label));
  if (!isObject(json)) return [];
  const strings = Object.values(json).filter((member) => typeof member === "string");
  const own = strings.find((text) => findQuotes(text).length === 0);
  const quoted = strings.filter((text) => findQuotes(text).length > 0);
  const nested = Object.values(json).filter((member) => isList(member) || isObject(member));
  const here = quoted.map((text) => ({ label: own ?? label, quotes: findQuotes(text) }));
  // A topic that came back empty: one of several records, of strings only, none of them with a quote.
  const isRecord = label !== "" && nested.length === 0 && strings.length > 1;
  const empty = isRecord && quoted.length === 0 && own !== undefined;
  const deeper = nested.flatMap((member) => groupsInJson(member, own ?? label));
  return [...here, ...(empty ? [{ label: own, quotes: [] }] : []), ...deeper];
}

function groupsInText(text: string, label = ""): QuoteGroup[] {
  const groups: { label: string; quotes: Quote[] }[] = [];
  let heading = label;
  for (const line of text.split("\n")) {
    const quotes = findQuotes(line);
    if (quotes.length > 0) groups.push({ label: heading, quotes });
    else if (line.trim().length > 0) heading = line.replace(/^[\s#*-]+|[\s:*]+$/g, "");
  }
  return groups;
}

function merge(groups: readonly QuoteGroup[]): QuoteGroup[] {
  const labels = [...new Set(groups.map((group) => group.label))];
  const seen = new Set<string>();
  return labels.map((label) => ({
    label,
    quotes: groups
      .filter((group) => group.label === label)
      .flatMap((group) => group.quotes)
      .filter((quote) => !seen.has(showQuote(quote)) && seen.add(showQuote(quote))),
  }));
}
