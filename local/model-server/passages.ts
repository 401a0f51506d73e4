import { isList, isObject, type Json, type JsonObject, jsonIn } from "./json.ts";

/** One line of a file, as a tool or the user showed it. */
export interface Passage {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** A file that a tool named without showing what is in it. */
export interface FileEntry {
  readonly name: string;
  readonly id: string;
}

export interface Seen {
  readonly passages: readonly Passage[];
  readonly files: readonly FileEntry[];
}

const FILE_KEYS = ["file", "path", "name", "filename", "document", "source"];
const TEXT_KEYS = ["text", "snippet", "excerpt", "content", "line_text"];
const LINE_KEYS = ["line", "lineNumber", "line_number"];

/**
 * What texts show of files: JSON objects that hold a file, a line and a text; numbered lines under a header that names
 * the file (`name.txt, lines 10-60 of 400`, then `12: …`); JSON objects that only name a file.
 */
export function readPassages(texts: readonly string[]): Seen {
  const passages = new Map<string, Passage>();
  const files = new Map<string, FileEntry>();
  for (const item of texts.flatMap(itemsIn)) {
    if (!("text" in item)) {
      files.set(item.name, item);
      continue;
    }
    const key = `${item.file}:${item.line}`;
    // A search may show a shortened line that a reader showed in full.
    if (item.text.length > (passages.get(key)?.text.length ?? -1)) passages.set(key, item);
  }
  return { passages: [...passages.values()], files: [...files.values()] };
}

function itemsIn(text: string): (Passage | FileEntry)[] {
  const json = jsonIn(text);
  return json === undefined ? numberedLines(text) : itemsInJson(json);
}

function itemsInJson(value: Json): (Passage | FileEntry)[] {
  if (typeof value === "string") return numberedLines(value);
  if (isList(value)) return value.flatMap(itemsInJson);
  if (!isObject(value)) return [];
  const file = firstOf(value, FILE_KEYS, "string");
  const text = firstOf(value, TEXT_KEYS, "string");
  const line = firstOf(value, LINE_KEYS, "number");
  if (file !== undefined && text !== undefined && line !== undefined) {
    return [{ file: String(file), line: Number(line), text: String(text) }];
  }
  const members = Object.values(value).flatMap(itemsInJson);
  if (file === undefined || text !== undefined) return members;
  return [{ name: String(file), id: typeof value.id === "string" ? value.id : String(file) }, ...members];
}

function firstOf(value: JsonObject, keys: readonly string[], type: "string" | "number"): Json | undefined {
  const key = keys.find((candidate) => typeof value[candidate] === type);
  return key === undefined ? undefined : value[key];
}

function numberedLines(text: string): Passage[] {
  const found: Passage[] = [];
  let file: string | undefined;
  for (const line of text.split("\n")) {
    const header = /^[=#\s]*(\S.*?\.\w{1,8})[\s,(:]+lines? \d+/i.exec(line);
    const numbered = /^\s*(\d+)(?:: ?|\t)(.*)$/.exec(line);
    if (header?.[1] !== undefined) file = header[1];
    else if (file !== undefined && numbered?.[1] !== undefined) {
      found.push({ file, line: Number(numbered[1]), text: numbered[2] ?? "" });
    }
  }
  return found;
}
