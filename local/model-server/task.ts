import { isList, isObject, type Json, jsonIn, stringLeaves } from "./json.ts";
import { findQuotes } from "./quotes.ts";

/** Names under which a JSON request usually holds what is asked, the most telling first. */
const TASK_KEYS = ["question", "query", "task", "topic", "prompt", "instruction", "request", "goal", "input"];

/** What a user's text asks: the text, or the telling member of the JSON that it is, or the part before its material. */
export function taskOf(text: string): string {
  const json = jsonIn(text);
  if (typeof json === "string") return json;
  if (json !== undefined && (isObject(json) || isList(json))) {
    const before = text.slice(0, text.search(/[[{]/)).trim();
    return before.length > 0 ? before : (askedIn(json) ?? text);
  }
  if (findQuotes(text).length === 0) return text.trim();
  const lines = text.split("\n").map((line) => line.replace(/^#+\s*/, "").trim());
  return lines.find((line) => line.length > 20 && findQuotes(line).length === 0) ?? lines[0] ?? text;
}

function askedIn(json: Json): string | undefined {
  const leaves = stringLeaves(json);
  for (const key of TASK_KEYS) {
    const leaf = leaves.find((candidate) => candidate.key.toLowerCase() === key);
    if (leaf !== undefined) return leaf.text;
  }
  return leaves.find((leaf) => findQuotes(leaf.text).length === 0)?.text;
}
