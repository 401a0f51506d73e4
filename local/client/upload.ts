// `--files`: what of a folder is sent, and as what.
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, extname, join, relative, sep } from "node:path";
import { FILE_MAX_BYTES } from "../../shared/core/limits.ts";
import type { FileInfo } from "../../shared/ports/files.ts";
import type { Api } from "./api.ts";
import { UsageError } from "./usage-error.ts";

/** More files than that are no attachment but a data set. */
const FILES_MAX = 1_000;

export interface LocalFile {
  readonly path: string;
  /** Relative to the folder that was named, with `/`. */
  readonly name: string;
  readonly bytes: number;
}

/** What was added before (`toren files add`) is named by its id. */
export const isFileId = (text: string): boolean => /^file_[0-9a-f]{32}$/.test(text);

/** Files below the paths, hidden ones and links left out, in the order of their names. @throws UsageError naming what can't be sent. */
export async function filesAt(paths: readonly string[]): Promise<LocalFile[]> {
  const files: LocalFile[] = [];
  for (const path of paths) {
    const info = await stat(path).catch(() => null);
    if (info === null) throw new UsageError(`There is no file or folder at ${path}.`);
    if (info.isDirectory()) files.push(...(await filesIn(path)));
    else if (!info.isFile()) throw new UsageError(`${path} is neither a file nor a folder: save what it holds in one.`);
    else files.push({ path, name: basename(path), bytes: info.size });
  }
  if (paths.length > 0 && files.length === 0) throw new UsageError(`No files are in ${paths.join(", ")}.`);
  if (files.length > FILES_MAX)
    throw new UsageError(`${files.length} files are in ${paths.join(", ")}; ${FILES_MAX} are the most.`);
  const large = files.find((file) => file.bytes > FILE_MAX_BYTES);
  if (large !== undefined)
    throw new UsageError(`${large.path} has ${large.bytes} bytes; ${FILE_MAX_BYTES} are the most.`);
  return files;
}

async function filesIn(folder: string): Promise<LocalFile[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (path) =>
        !relative(folder, path)
          .split(sep)
          .some((part) => part.startsWith(".")),
    )
    .sort();
  return Promise.all(
    paths.map(async (path) => ({
      path,
      name: relative(folder, path).split(sep).join("/"),
      bytes: (await stat(path)).size,
    })),
  );
}

const TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".html": "text/html",
  ".json": "application/json",
  ".md": "text/markdown",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** By the name where it says something, else by what is in it. */
export function mediaTypeOf(name: string, content: Uint8Array): string {
  return TYPES[extname(name).toLowerCase()] ?? (isText(content) ? "text/plain" : "application/octet-stream");
}

function isText(content: Uint8Array): boolean {
  if (content.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(content);
    return true;
  } catch {
    return false;
  }
}

export async function send(api: Api, file: LocalFile): Promise<FileInfo> {
  const content = new Uint8Array(await readFile(file.path));
  return api.addFile(file.name, mediaTypeOf(file.name, content), content);
}

/** Sends the files one after another; returns their ids in the same order. */
export async function upload(api: Api, files: readonly LocalFile[]): Promise<string[]> {
  const ids: string[] = [];
  for (const file of files) ids.push((await send(api, file)).id);
  return ids;
}
