import type { ToolDefinition } from "./chat.ts";
import { EXPRESSION_NAME, expressionIn, fill, IDENTIFIER_NAME, identifierIn } from "./fill.ts";
import { canonical, isList, isObject, type Json, type JsonObject } from "./json.ts";
import {
  MAX_READS_PER_ROUND_COUNT,
  MAX_SEARCH_TERMS_COUNT,
  MAX_SEARCHES_PER_ROUND_COUNT,
  MAX_TOOL_ROUNDS_COUNT,
  READ_LEAD_LINES,
  READ_WINDOW_LINES,
} from "./limits.ts";
import type { Seen } from "./passages.ts";
import { rank } from "./ranking.ts";
import { keyTerms, stem, stems, tokens } from "./words.ts";

export interface Call {
  readonly tool: string;
  readonly args: JsonObject;
}

/** Where the work on a task stands. */
export interface Progress {
  readonly task: string;
  readonly tools: readonly ToolDefinition[];
  readonly rounds: number;
  readonly made: readonly Call[];
  readonly seen: Seen;
}

const SEARCHES = /search|find|query|look|retriev|grep/i;
const READS = /read|get|fetch|open|load|view|show|cat|page/i;
const LISTS = /^(?:list|ls|index|show|get|all|files)/i;
const QUERY_NAME = /^(?:q|query|search|question|keywords?|search_?term|.*_query|.*Query)$/;
const TEXT_NAME = /^(?:text|terms?|pattern)$/i;
const FILE_NAME = /^(?:file|path|filename|document|doc|.*_file|.*File|.*_path|.*Path)$/;
const ID_NAME = /^(?:name|id|.*_id|.*Id)$/;
const LINE_NAME = /line/i;
const START_NAME = /offset|start|from/i;
/** Counted in something that a line number says nothing about. */
const OTHER_UNIT_NAME = /char|byte|col|token|page/i;
const COUNT_NAME = /^(?:lines|count|limit|n|length)$/i;

/**
 * The calls that an agent would make now: see what there is and search it in two ways; read around the best hits; then
 * look up what the task names; then whatever else the task itself names. None when the answer is due. Never a call that was made before.
 */
export function nextCalls(progress: Progress): Call[] {
  if (progress.rounds >= MAX_TOOL_ROUNDS_COUNT) return [];
  const made = new Set(progress.made.map(callKey));
  const fresh = (calls: readonly Call[]): Call[] => {
    const keys = calls.map(callKey);
    return calls.filter((call, i) => !made.has(callKey(call)) && keys.indexOf(callKey(call)) === i);
  };
  const looking = fresh([...listing(progress), ...searching(progress)]);
  if (looking.length > 0) return looking;
  const reads = fresh([...reading(progress), ...lookups(progress)]);
  return reads.length > 0 ? reads : fresh(named(progress));
}

/** A call that the request insists on although no rule wants one. */
export function forcedCall(tool: ToolDefinition, task: string): Call {
  return { tool: tool.name, args: requiredArgs(tool, task) };
}

function listing({ tools, made }: Progress): Call[] {
  const lister = tools.find((tool) => required(tool).length === 0 && LISTS.test(tool.name));
  if (lister === undefined || made.some((call) => call.tool === lister.name)) return [];
  return [{ tool: lister.name, args: {} }];
}

function searching({ task, tools, made, seen }: Progress): Call[] {
  const found = tools
    .map((tool) => ({ tool, argument: queryArgument(tool) }))
    .find(({ argument }) => argument !== undefined);
  if (found?.argument === undefined) return [];
  const { tool, argument } = found;
  const searched = made.filter((call) => call.tool === tool.name).length;
  if (searched > 0 && seen.passages.length > 0) return [];
  return searchQueries(task)
    .slice(searched, searched + MAX_SEARCHES_PER_ROUND_COUNT)
    .map((query) => ({ tool: tool.name, args: { ...requiredArgs(tool, task), [argument]: query } }));
}

/** All key terms first; then the most telling ones; then, for when nothing was found, one word at a time. */
function searchQueries(task: string): string[] {
  const terms = keyTerms(task);
  const telling = terms.toSorted((a, b) => b.weight - a.weight || b.surface.length - a.surface.length);
  const names = terms.filter((term) => term.weight > 1);
  const all = terms.slice(0, MAX_SEARCH_TERMS_COUNT);
  const few = names.length > 1 ? names : telling.slice(0, Math.ceil(all.length / 2));
  const queries = [all, few, ...telling.map((term) => [term])].map((part) =>
    part.map((term) => term.surface).join(" "),
  );
  return [...new Set(queries)].filter((query) => query.length > 0);
}

function reading({ task, tools, made, seen }: Progress): Call[] {
  const reader = tools.find((tool) => fileArgument(tool) !== undefined && READS.test(tool.name));
  const argument = reader === undefined ? undefined : fileArgument(reader);
  if (reader === undefined || argument === undefined) return [];
  if (seen.passages.length > 0 && made.some((call) => call.tool === reader.name)) return [];
  return places(task, seen)
    .slice(0, MAX_READS_PER_ROUND_COUNT)
    .map(({ name, id, line }) => ({
      tool: reader.name,
      args: {
        ...requiredArgs(reader, task),
        ...(line === undefined ? {} : windowArgs(reader, line)),
        [argument]: /id$/i.test(argument) ? id : name,
      },
    }));
}

interface Place {
  readonly name: string;
  readonly id: string;
  readonly line?: number;
}

/** Where to read: the best hit of each file, best first; without hits, the files whose names speak of the task. */
function places(task: string, seen: Seen): Place[] {
  const best = new Map<string, Place>();
  for (const { file, line } of rank(task, seen.passages)) {
    const id = seen.files.find((entry) => entry.name === file)?.id ?? file;
    if (!best.has(file)) best.set(file, { name: file, id, line });
  }
  if (best.size > 0) return [...best.values()];
  const words = stems(task);
  const shared = (name: string): number => stems(name).filter((word) => words.includes(word)).length;
  return seen.files.toSorted((a, b) => shared(b.name) - shared(a.name));
}

function windowArgs(reader: ToolDefinition, line: number): JsonObject {
  const integers = Object.entries(properties(reader)).filter(([, schema]) => isInteger(schema));
  const count = integers.find(([name]) => COUNT_NAME.test(name))?.[0];
  const starts = integers.map(([name]) => name).filter((name) => name !== count && !OTHER_UNIT_NAME.test(name));
  const start = starts.find((name) => LINE_NAME.test(name)) ?? starts.find((name) => START_NAME.test(name));
  if (start === undefined) return {};
  const from = Math.max(1, line - READ_LEAD_LINES);
  return { [start]: from, ...(count === undefined ? {} : { [count]: READ_WINDOW_LINES }) };
}

/** Words of a tool's name that say that it looks at something, not at what: nobody repeats them in a request. */
const LOOKS = new Set(["get", "look", "lookup", "fetch", "check", "show", "read", "view", "current", "now"].map(stem));

/** A tool that looks at one thing is called, once, when the task names the thing, and holds the identifier that the tool wants, if it wants one. */
function lookups({ task, tools, made }: Progress): Call[] {
  const words = new Set(stems(task));
  return tools
    .filter((tool) => !made.some((call) => call.tool === tool.name))
    .filter((tool) => {
      const parts = stems(spaced(tool.name));
      const things = parts.filter((part) => !LOOKS.has(part));
      const looks = LOOKS.has(stem(tokens(spaced(tool.name))[0] ?? ""));
      return looks && things.length > 0 && things.every((part) => words.has(part)) && hasIdentifiers(tool, task);
    })
    .map((tool) => forcedCall(tool, task));
}

const hasIdentifiers = (tool: ToolDefinition, task: string): boolean =>
  requiredStrings(tool).every((name) => !IDENTIFIER_NAME.test(name) || identifierIn(task) !== undefined);

/** Tools of any other kind are called, once, when the task holds every word of their name, or what they calculate. */
function named({ task, tools, made }: Progress): Call[] {
  const words = new Set(tokens(task).flatMap((word) => stems(word)));
  return tools
    .filter((tool) => !made.some((call) => call.tool === tool.name))
    .filter((tool) => {
      const parts = stems(spaced(tool.name));
      const calculates = requiredStrings(tool).some((name) => EXPRESSION_NAME.test(name));
      if (calculates) return expressionIn(task) !== undefined;
      return parts.length > 0 && parts.every((part) => words.has(part)) && hasIdentifiers(tool, task);
    })
    .map((tool) => forcedCall(tool, task));
}

const spaced = (name: string): string => name.replace(/[_-]|(?<=\p{Ll})(?=\p{Lu})/gu, " ");

function queryArgument(tool: ToolDefinition): string | undefined {
  const strings = requiredStrings(tool);
  const searches = SEARCHES.test(`${tool.name} ${tool.description ?? ""}`);
  return strings.find((name) => QUERY_NAME.test(name)) ?? strings.find((name) => searches && TEXT_NAME.test(name));
}

function fileArgument(tool: ToolDefinition): string | undefined {
  const strings = requiredStrings(tool);
  return strings.find((name) => FILE_NAME.test(name)) ?? strings.find((name) => ID_NAME.test(name));
}

function requiredArgs(tool: ToolDefinition, task: string): JsonObject {
  const args = fill(tool.parameters ?? { type: "object" }, { text: task, prose: task }, "required");
  return isObject(args) ? args : {};
}

function required(tool: ToolDefinition): string[] {
  return isList(tool.parameters?.required) ? tool.parameters.required.map(String) : [];
}

function requiredStrings(tool: ToolDefinition): string[] {
  return required(tool).filter((name) => {
    const schema = properties(tool)[name];
    return isObject(schema) && schema.type === "string" && schema.enum === undefined;
  });
}

function properties(tool: ToolDefinition): JsonObject {
  return isObject(tool.parameters?.properties) ? tool.parameters.properties : {};
}

function isInteger(schema: Json): boolean {
  return isObject(schema) && (schema.type === "integer" || schema.type === "number");
}

function callKey(call: Call): string {
  return `${call.tool} ${canonical(call.args)}`;
}
