// toren files …: what can be attached to runs.
import { Command } from "commander";
import { FILES_PAGE_MAX } from "../../shared/core/limits.ts";
import type { FileInfo } from "../../shared/ports/files.ts";
import type { FilesPageJson } from "../client/api.ts";
import { connectForFiles } from "../client/connect-for-files.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { filesAt, send } from "../client/upload.ts";
import { UsageError } from "../client/usage-error.ts";
import { type Style, styleOf } from "../terminal/style.ts";
import { oneLine } from "../terminal/terminal.ts";
import { ago, bytes, counted } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, EXIT, parseCount, say, subcommand, writeJson } from "./context.ts";

export function filesCommand(context: Context): Command {
  const files = new Command("files").description("add, list and remove the files that runs can be given");
  for (const make of [addCommand, listCommand, removeCommand]) files.addCommand(make(context));
  return files;
}

const addCommand = (context: Context): Command =>
  subcommand("add", "keep files; the same file under the same name is kept once")
    .argument("<path...>", "files, or folders: all files in them")
    .action((paths: string[], { json }: { json?: boolean }) => context.run(json, () => add(context, paths, json)));

async function add({ terminal }: Context, paths: readonly string[], json: boolean | undefined): Promise<number> {
  const files = await filesAt(paths);
  const connection = await connectForFiles(terminal);
  const added: FileInfo[] = [];
  try {
    for (const file of files) {
      const info = await send(connection.api, file);
      added.push(info);
      if (!json) terminal.out.write(`${row(info, styleOf(terminal.out), widest(files))}\n`);
    }
  } finally {
    // What came before a refused file is kept, and is said.
    if (json && added.length === files.length) writeJson(terminal, { files: added });
    else if (added.length > 0 && added.length < files.length)
      say(terminal, `${counted(added.length, "file")} of ${files.length} kept.`);
    await connection.close();
  }
  return EXIT.done;
}

const LIST_DEFAULT = 20;

const listCommand = (context: Context): Command =>
  subcommand("list", "files, newest first")
    .option("--limit <n>", `how many, at most ${FILES_PAGE_MAX}`, parseCount, LIST_DEFAULT)
    .action((options: { limit: number; json?: boolean }) =>
      context.run(options.json, async () => {
        if (options.limit > FILES_PAGE_MAX) throw new UsageError(`--limit is at most ${FILES_PAGE_MAX}.`);
        return await answered(context.terminal, connectToRead, options.json, {
          ask: (api) => api.files({ limit: String(options.limit) }),
          show: (page) => show(context, page),
        });
      }),
    );

function show({ terminal }: Context, page: FilesPageJson): void {
  const style = styleOf(terminal.out);
  if (page.files.length === 0) say(terminal, "No files.");
  const now = Date.now();
  const columns = widest(page.files);
  for (const file of page.files) {
    const line = `${row(file, style, columns)}  ${style.dim(ago(now - Date.parse(file.createdAt)))}`;
    terminal.out.write(`${line}\n`);
  }
  if (page.next !== null) say(terminal, style.dim("There are more: --limit shows more."));
}

const removeCommand = (context: Context): Command =>
  subcommand("rm", "remove files that no run under way has")
    .argument("<id...>", "their ids, as list gives them")
    .action((ids: string[], { json }: { json?: boolean }) =>
      context.run(json, () =>
        answered(context.terminal, connectToRead, json, {
          ask: async (api) => {
            for (const id of ids) {
              await api.removeFile(id);
              if (!json) say(context.terminal, `${id} has been removed.`); // those before one that is refused are gone
            }
            return { removed: ids };
          },
          show: () => {},
        }),
      ),
    );

const NAME_COLUMNS_MAX = 40;

/** Of their names, so that what follows stands in a column. */
const widest = (files: readonly { readonly name: string }[]): number =>
  Math.min(NAME_COLUMNS_MAX, Math.max(0, ...files.map(({ name }) => oneLine(name).length)));

function row({ id, name, mediaType, bytes: size, pages }: FileInfo, style: Style, columns: number): string {
  const what = pages === null ? mediaType : `${mediaType}, ${counted(pages, "page")}`;
  return `${id}  ${bytes(size).padStart(8)}  ${oneLine(name).padEnd(columns)}  ${style.dim(oneLine(what))}`;
}
