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
  READ_PAGES_MAX,
  READ_RESULT_CHARS,
  SEARCH_LINE_CHARS,
  SEARCH_RESULT_CHARS,
  SEARCH_RESULTS_DEFAULT,
  SEARCH_RESULTS_MAX,
  SEARCH_TURN_CHARS,
} from "../core/limits.ts";
import { SEEN_IMAGES } from "../core/messages.ts";
import { linesOf, pagesOf, sliceText } from "../core/text-files.ts";
import { toolParts } from "../core/tool-parts.ts";
import type { ToolContext, ToolDefinition } from "../ports/agents.ts";
import type { FileInfo } from "../ports/files.ts";
import { type Hit, parseQuery, Search } from "./search.ts";
import { defineTool, toolDefinition } from "./tool.ts";

const reading = { effects: "none", idempotency: "none", approval: "never" } as const;

const listFiles = defineTool({
  ...reading,
  description:
    "Lists the attached files: id, name, media type, size in bytes, the number of pages (of a PDF, else null), and the number of lines (null where a file is not text, or has pages).",
  input: z.object({}),
  handler: async (_args, ctx) => {
    const listed: Json[] = [];
    for (const info of await ctx.files.list()) {
      const { id, name, mediaType, bytes, pages } = info;
      const [part] = pages === null ? await readable(ctx, info) : [];
      listed.push({ id, name, mediaType, bytes, pages, lines: part === undefined ? null : part.lines.length });
    }
    return listed;
  },
});

const searchFiles = defineTool({
  ...reading,
  description:
    "Searches the attached text files and PDFs for the lines that best match the query's words, best first. Each result has the file, the page (of a PDF), the line's number (within the page, of a PDF) and its text. " +
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
      for (const info of files) await addParts(search, label(info, files), await readable(ctx, info), ctx.signal);
    else {
      const info = findFile(files, file);
      await addParts(search, label(info, files), await partsOf(ctx, info), ctx.signal);
    }
    return search.best(limit).map(result);
  },
});

const readFile = defineTool({
  ...reading,
  description:
    "Reads lines of an attached text file, or pages of an attached PDF. The result names the file and the page or lines shown; each line follows as `number: text`. " +
    "Of an image, the image itself.",
  input: z.object({
    file: z.string().describe("The file's name or id, as list_files gives it."),
    page: z.int().min(1).optional().describe("Of a PDF: the first page to read. Default 1."),
    pages: z
      .int()
      .min(1)
      .max(READ_PAGES_MAX)
      .optional()
      .describe(`Of a PDF: how many pages to read. Default 1, at most ${READ_PAGES_MAX}.`),
    fromLine: z
      .int()
      .min(1)
      .default(1)
      .describe("The first line to read; of a PDF: within the first page to read. Default 1."),
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
  handler: async ({ file, page, pages, ...range }, ctx) => {
    const info = findFile(await ctx.files.list(), file);
    if (info.pages === null && (page !== undefined || pages !== undefined))
      throw new Error(`${info.name} has no pages: leave out page and pages, and use fromLine`);
    const { name } = info;
    if (SEEN_IMAGES.has(info.mediaType))
      return toolParts([
        { type: "text", text: `${name}, ${info.mediaType}` },
        { type: "image", fileId: info.id },
      ]);
    const parts = await partsOf(ctx, info);
    return info.pages === null
      ? readLines(name, parts[0]?.lines ?? [], range)
      : readPages(name, parts, page ?? 1, pages ?? 1, range);
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

/** A text file, or a page of a PDF. */
interface Part {
  readonly page: number | null;
  readonly lines: readonly string[];
}

async function partsOf(ctx: ToolContext, { id, name, pages }: FileInfo): Promise<Part[]> {
  const text = await ctx.files.text(id);
  if (text === null) throw new Error(`${name} is no longer there`);
  if (pages === null) return [{ page: null, lines: linesOf(text) }];
  return pagesOf(text).map((page, i) => ({ page: i + 1, lines: linesOf(page) }));
}

/** Nothing where the file isn't text, or is gone: it doesn't hide the others. */
async function readable(ctx: ToolContext, info: FileInfo): Promise<Part[]> {
  ctx.signal.throwIfAborted();
  try {
    return (await ctx.files.text(info.id)) === null ? [] : await partsOf(ctx, info);
  } catch (thrown) {
    if (thrown instanceof TorenError && thrown.code === "file.unreadable") return [];
    throw thrown;
  }
}

async function addParts(search: Search, file: string, parts: readonly Part[], signal: AbortSignal): Promise<void> {
  let chars = 0;
  for (const { page, lines } of parts) {
    for (const [i, whole] of lines.entries()) {
      for (let from = 0; from === 0 || from < whole.length; from += SEARCH_LINE_CHARS) {
        const text = sliceText(whole, from, SEARCH_LINE_CHARS);
        search.add({ file, page, line: i + 1, lineChars: whole.length, from, text });
        chars += Math.min(whole.length, SEARCH_LINE_CHARS);
        if (chars < SEARCH_TURN_CHARS) continue;
        chars = 0;
        await setImmediate();
        signal.throwIfAborted();
      }
    }
  }
}

/** A long line is shown around its first match; read_file has it whole. */
function result({ file, page, line, lineChars, text, at }: Hit): Json {
  const place = page === null ? { file, line } : { file, page, line };
  if (lineChars <= SEARCH_RESULT_CHARS) return { ...place, text };
  const start = Math.max(0, Math.min(at - SEARCH_RESULT_CHARS / 4, text.length - SEARCH_RESULT_CHARS));
  const where = page === null ? `fromLine ${line}` : `page ${page}, fromLine ${line}`;
  const note = `a part of a line of ${lineChars} characters; read_file with ${where} shows it from its start`;
  return { ...place, text: `…${sliceText(text, start, SEARCH_RESULT_CHARS)}…`, note };
}

interface Range {
  readonly fromLine: number;
  readonly lines: number;
  readonly fromChar: number;
}

function readLines(name: string, all: readonly string[], range: Range): string {
  if (all.length === 0) return `${name} is empty`;
  if (range.fromLine > all.length)
    throw new Error(`${name} has ${all.length} lines: fromLine must be at most ${all.length}`);
  const { shown, last, full } = lines(all, range, READ_RESULT_CHARS);
  const more = full ? [`[the result is full: read on with fromLine ${last + 1}]`] : [];
  return [`${name}, lines ${range.fromLine}-${last} of ${all.length}`, ...shown, ...more].join("\n");
}

/** Page after page, each under its header; the range's start counts for the first alone. */
function readPages(name: string, parts: readonly Part[], first: number, count: number, range: Range): string {
  if (first > parts.length) throw new Error(`${name} has ${parts.length} pages: page must be at most ${parts.length}`);
  const shown: string[] = [];
  let left = READ_RESULT_CHARS;
  for (let page = first; page < first + count && page <= parts.length; page++) {
    if (left < READ_LINE_CHARS) return [...shown, `[the result is full: read on with page ${page}]`].join("\n");
    const own = page === first ? range : { ...range, fromLine: 1, fromChar: 1 };
    const title = `${name}, page ${page} of ${parts.length}`;
    const { text, full } = onePage(title, page, parts[page - 1]?.lines ?? [], own, left);
    shown.push(text);
    if (full) break; // it says itself how it goes on
    left -= text.length;
  }
  return shown.join("\n");
}

function onePage(title: string, page: number, all: readonly string[], range: Range, budgetChars: number) {
  if (all.length === 0)
    return { text: `${title}\n[no text is on this page: it may be an image, or blank]`, full: false };
  const { fromLine } = range;
  if (fromLine > all.length)
    throw new Error(`${title} has ${all.length} lines: fromLine must be at most ${all.length}`);
  const { shown, last, full } = lines(all, range, budgetChars);
  const whole = fromLine === 1 && last === all.length;
  const more = last < all.length ? [`[the page goes on: page ${page}, fromLine ${last + 1}]`] : [];
  const head = whole ? title : `${title}, lines ${fromLine}-${last} of ${all.length}`;
  return { text: [head, ...shown, ...more].join("\n"), full };
}

/** At least one line; `full`: the characters ended it, not the range. */
function lines(all: readonly string[], { fromLine, lines, fromChar }: Range, budgetChars: number) {
  const shown: string[] = [];
  let chars = 0;
  let line = fromLine;
  for (; line < fromLine + lines && line <= all.length; line++) {
    const text = numbered(line, all[line - 1] ?? "", line === fromLine ? fromChar : 1);
    chars += text.length;
    if (chars > budgetChars && shown.length > 0) break;
    shown.push(text);
  }
  const last = line - 1;
  return { shown, last, full: last < all.length && last < fromLine + lines - 1 };
}

function numbered(line: number, text: string, fromChar: number): string {
  const shown = sliceText(text, fromChar - 1, READ_LINE_CHARS);
  const end = fromChar - 1 + shown.length;
  const whole = `${line}: ${fromChar > 1 ? "…" : ""}${shown}`;
  if (end >= text.length) return whole;
  return `${whole}…\n[line ${line} is cut after character ${end} of ${text.length}: read on with fromLine ${line}, fromChar ${end + 1}]`;
}
