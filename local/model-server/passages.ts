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
 * What a text shows of files: JSON objects that hold a file, a line and a text; numbered lines under a header that names
 * the file (`name.txt, lines 10-60 of 400`, then `12: …`); JSON objects that only name a file.
 */
export function readPassages(texts: readonly string[]): Seen {
  const passages = new Map<string, Passage>();
  const files = new Map<string, FileEntry>();
  const add = (passage: Passage): void => {
    const key = `${passage.file}:${passage.line}`;
    // A search may show a shortened line that a reader showed in full.
    if (passage.text.length > (passages.get(key)?.text.length ?? -1)) passages.set(key, passage);
  };
  for (const text of texts) {
    const json = jsonIn(text);
    if (typeof json === "string") numberedLines(json).forEach(add);
    else if (json === undefined) numberedLines(text).forEach(add);
    else walk(json, add, (entry) => files.set(entry.name, entry));
  }
  return { passages: [...passages.values()], files: [...files.values()] };
}

function walk(value: Json, add: (passage: Passage) => void, name: (entry: FileEntry) => void): void {
  if (typeof value === "string") return numberedLines(value).forEach(add);
  if (isList(value)) return value.forEach((item) => walk(item, add, name));
  if (!isObject(value)) return;
  const file = firstOf(value, FILE_KEYS, "string");
  const text = firstOf(value, TEXT_KEYS, "string");
  const line = firstOf(value, LINE_KEYS, "number");
  if (file !== undefined && text !== undefined && line !== undefined) {
    return add({ file: String(file), line: Number(line), text: String(text) });
  }
  if (file !== undefined && text === undefined) {
    name({ name: String(file), id: typeof value.id === "string" ? value.id : String(file) });
  }
  for (const member of Object.values(value)) walk(member, add, name);
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
