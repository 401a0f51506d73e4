// Tools that every role may name: they list, search and read the files attached to the run. Their names, descriptions and schemas are part of the digest
// contract (I6): a word changed here cuts every run that uses them.
import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import { TorenError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import {
  READ_LINE_CHARS,
  READ_LINES_DEFAULT,
  READ_LINES_MAX,
  READ_RESULT_CHARS,
  SEARCH_LINE_CHARS,
  SEARCH_RESULT_CHARS,
  SEARCH_RESULTS_DEFAULT,
  SEARCH_RESULTS_MAX,
  SEARCH_TURN_CHARS,
} from "../core/limits.ts";
import { linesOf, sliceText } from "../core/text-files.ts";
import type { ToolContext, ToolDefinition } from "../ports/agents.ts";
import type { FileInfo } from "../ports/files.ts";
import { type Hit, parseQuery, Search } from "./search.ts";
import { defineTool, toolDefinition } from "./tool.ts";

const reading = { effects: "none", idempotency: "none", approval: "never" } as const;

const listFiles = defineTool({
  ...reading,
  description:
    "Lists the attached files: id, name, media type, size in bytes, and the number of lines (null where a file is not text).",
  input: z.object({}),
  handler: async (_args, ctx) => {
    const listed: Json[] = [];
    for (const { id, name, mediaType, bytes } of await ctx.files.list()) {
      const lines = await readable(ctx, id);
      listed.push({ id, name, mediaType, bytes, lines: lines === null ? null : lines.length });
    }
    return listed;
  },
});

const searchFiles = defineTool({
  ...reading,
  description:
    "Searches the attached text files for the lines that best match the query's words, best first. Each result has the file, the line's number and its text. " +
    "Read around a result with read_file before relying on it.",
  input: z.object({
    query: z
      .string()
      .min(1)
      .describe("Words that the passage should hold: key terms, names, settings. Not case-sensitive."),
    file: z.string().optional().describe("Name or id of one file to search. Default: all files."),
    limit: z
      .int()
      .min(1)
      .max(SEARCH_RESULTS_MAX)
      .default(SEARCH_RESULTS_DEFAULT)
      .describe(`How many results at most. Default ${SEARCH_RESULTS_DEFAULT}, at most ${SEARCH_RESULTS_MAX}.`),
  }),
  handler: async ({ query, file, limit }, ctx) => {
    const parsed = parseQuery(query);
    if (parsed === null) throw new Error("the query holds no word to search for");
    const files = await ctx.files.list();
    const search = new Search(parsed);
    if (file === undefined)
      for (const info of files) await addLines(search, label(info, files), await readable(ctx, info.id), ctx.signal);
    else {
      const info = findFile(files, file);
      await addLines(search, label(info, files), await linesOfFile(ctx, info), ctx.signal);
    }
    return search.best(limit).map(result);
  },
});

const readFile = defineTool({
  ...reading,
  description:
    "Reads lines of an attached text file. The result names the file and the lines shown; each line follows as `number: text`.",
  input: z.object({
    file: z.string().describe("The file's name or id, as list_files gives it."),
    fromLine: z.int().min(1).default(1).describe("The first line to read. Default 1."),
    lines: z
      .int()
      .min(1)
      .max(READ_LINES_MAX)
      .default(READ_LINES_DEFAULT)
      .describe(`How many lines to read. Default ${READ_LINES_DEFAULT}, at most ${READ_LINES_MAX}.`),
    fromChar: z
      .int()
      .min(1)
      .default(1)
      .describe("The first character to show of the first line, to read on in a line that was cut. Default 1."),
  }),
  handler: async ({ file, fromLine, lines, fromChar }, ctx) => {
    const info = findFile(await ctx.files.list(), file);
    const all = await linesOfFile(ctx, info);
    if (all.length === 0) return `${info.name} is empty`;
    if (fromLine > all.length)
      throw new Error(`${info.name} has ${all.length} lines: fromLine must be at most ${all.length}`);
    return page(info.name, all, { fromLine, lines, fromChar });
  },
});

export const BUILTINS: ReadonlyMap<string, ToolDefinition> = new Map(
  Object.entries({ list_files: listFiles, search_files: searchFiles, read_file: readFile }).map(([name, tool]) => [
    name,
    toolDefinition(tool, name),
  ]),
);

function findFile(files: readonly FileInfo[], wanted: string): FileInfo {
  const found = files.filter(({ id, name }) => id === wanted || name === wanted);
  if (found[0] !== undefined && found.length === 1) return found[0];
  if (found.length > 1)
    throw new Error(`several files are named "${wanted}": use an id: ${found.map(({ id }) => id).join(", ")}`);
  const names = files.map((file) => label(file, files)).join(", ");
  throw new Error(
    `there is no file "${wanted}"; ${names === "" ? "no files are attached to this run" : `the files are: ${names}`}`,
  );
}

/** What names a file without doubt. */
const label = ({ id, name }: FileInfo, files: readonly FileInfo[]): string =>
  files.some((other) => other.name === name && other.id !== id) ? id : name;

async function linesOfFile(ctx: ToolContext, { id, name }: FileInfo): Promise<string[]> {
  const text = await ctx.files.text(id);
  if (text === null) throw new Error(`${name} is no longer there`);
  return linesOf(text);
}

/** Null where the file isn't text: it doesn't hide the others. */
async function readable(ctx: ToolContext, id: string): Promise<string[] | null> {
  ctx.signal.throwIfAborted();
  try {
    const text = await ctx.files.text(id);
    return text === null ? null : linesOf(text);
  } catch (thrown) {
    if (thrown instanceof TorenError && thrown.code === "file.unknown") return null;
    throw thrown;
  }
}

async function addLines(
  search: Search,
  file: string,
  lines: readonly string[] | null,
  signal: AbortSignal,
): Promise<void> {
  let chars = 0;
  for (const [i, text] of (lines ?? []).entries()) {
    for (let from = 0; from === 0 || from < text.length; from += SEARCH_LINE_CHARS) {
      search.add({ file, line: i + 1, lineChars: text.length, from, text: sliceText(text, from, SEARCH_LINE_CHARS) });
      chars += Math.min(text.length, SEARCH_LINE_CHARS);
      if (chars < SEARCH_TURN_CHARS) continue;
      chars = 0;
      await setImmediate();
      signal.throwIfAborted();
    }
  }
}

/** A long line is shown around its first match; read_file has it whole. */
function result({ file, line, lineChars, text, at }: Hit): Json {
  if (lineChars <= SEARCH_RESULT_CHARS) return { file, line, text };
  const start = Math.max(0, Math.min(at - SEARCH_RESULT_CHARS / 4, text.length - SEARCH_RESULT_CHARS));
  const note = `a part of a line of ${lineChars} characters; read_file with fromLine ${line} shows it from its start`;
  return { file, line, text: `…${sliceText(text, start, SEARCH_RESULT_CHARS)}…`, note };
}

interface Range {
  readonly fromLine: number;
  readonly lines: number;
  readonly fromChar: number;
}

function page(name: string, all: readonly string[], { fromLine, lines, fromChar }: Range): string {
  const shown: string[] = [];
  let chars = 0;
  let line = fromLine;
  for (; line < fromLine + lines && line <= all.length; line++) {
    const text = numbered(line, all[line - 1] ?? "", line === fromLine ? fromChar : 1);
    chars += text.length;
    if (chars > READ_RESULT_CHARS && shown.length > 0) break;
    shown.push(text);
  }
  const last = line - 1;
  const more =
    last < all.length && last < fromLine + lines - 1 ? [`[the result is full: read on with fromLine ${last + 1}]`] : [];
  return [`${name}, lines ${fromLine}-${last} of ${all.length}`, ...shown, ...more].join("\n");
}

function numbered(line: number, text: string, fromChar: number): string {
  const shown = sliceText(text, fromChar - 1, READ_LINE_CHARS);
  const end = fromChar - 1 + shown.length;
  const whole = `${line}: ${fromChar > 1 ? "…" : ""}${shown}`;
  if (end >= text.length) return whole;
  return `${whole}…\n[line ${line} is cut after character ${end} of ${text.length}: read on with fromLine ${line}, fromChar ${end + 1}]`;
}
