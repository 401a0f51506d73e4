// A bundle becomes a module under a name made of its content: a changed one is a new module, an equal one is the module that is there already.
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { hash } from "../../shared/core/digest.ts";
import { messageOf } from "../../shared/core/errors.ts";
import { AGENT_LOAD_MS, BUNDLE_KEEP_MS } from "../../shared/core/limits.ts";
import { asAuthorsCode } from "../../shared/core/workflow/window.ts";
import type { BuildProblem, Bundle } from "./bundle.ts";

type Exports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
export type Imported =
  | { readonly ok: true; readonly exports: Exports }
  | { readonly ok: false; readonly problem: BuildProblem };

/** Runs the bundle's top level. `folder` is the agent's, blamed where the error has no place. */
export async function importBundle(
  agent: string,
  bundle: Bundle,
  folder: string,
  cacheFolder: string,
): Promise<Imported> {
  const path = join(cacheFolder, `${agent}-${hash(bundle.code)}.mjs`);
  await writeBundle(path, bundle);
  await dropOld(cacheFolder, `${agent}-`);
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    const error = new Error(`the modules' top level did not finish within ${AGENT_LOAD_MS / 1_000} seconds`);
    timer = setTimeout(() => reject(error), AGENT_LOAD_MS);
  });
  try {
    const load = (): Promise<Exports> => import(pathToFileURL(path).href);
    const loading = asAuthorsCode(`the modules of agent ${agent}`, load); // what they begin at their top level is the author's for as long as it goes on
    return { ok: true, exports: await Promise.race([loading, tooLate]) };
  } catch (thrown) {
    const place = placeOf(thrown, path, bundle, folder);
    const message = await withExport(named(messageOf(thrown), bundle), place);
    return { ok: false, problem: { file: place?.file ?? folder, line: place?.line ?? null, message } };
  } finally {
    clearTimeout(timer);
  }
}

/** Node's messages about imports say where a package lies; its name says more. */
const named = (message: string, { packages }: Bundle): string =>
  [...packages].reduce((text, [url, name]) => text.replaceAll(url, name), message);

/** `tool "Looks something up."` is how defineTool names one that has no name yet; what it is exported as says more. */
async function withExport(message: string, place: Place | null): Promise<string> {
  if (place === null || !message.startsWith('tool "')) return message;
  const lines = (await readFile(place.file, "utf8").catch(() => "")).split("\n");
  const exported = /^\s*export\s+(?:const|let)\s+([\w$]+)/.exec(lines[place.line - 1] ?? "")?.[1];
  return exported === undefined ? message : message.replace(/^tool ".*?"(?=: )/s, `tool ${exported}`);
}

/** Whole or not at all: another worker may load the same file at the same time. */
async function writeBundle(path: string, { code, map }: Bundle): Promise<void> {
  await mkdir(resolve(path, ".."), { recursive: true });
  const inline = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}\n`;
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, `${code}${inline}`);
  await rename(unfinished, path);
}

/** What nobody has loaded for long. Each load writes its file anew, so one in use is young. */
async function dropOld(folder: string, prefix: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((file) => file.startsWith(prefix))) {
    const path = join(folder, name);
    const written = await stat(path).catch(() => null);
    if (written !== null && Date.now() - written.mtimeMs > BUNDLE_KEEP_MS) await rm(path, { force: true });
  }
}

interface Place {
  readonly file: string;
  readonly line: number;
}

/** The user's file and line that an error came from, by its stack and the bundle's source map. */
function placeOf(thrown: unknown, path: string, bundle: Bundle, folder: string): Place | null {
  const stack = (thrown as { stack?: unknown } | null)?.stack;
  if (typeof stack !== "string") return null;
  for (const [, file = "", line = "1", column = "1"] of stack.matchAll(
    /((?:file:\/\/)?\/[^\s():]+):(\d+)(?::(\d+))?/g,
  )) {
    const where = file.startsWith("file://") ? fileURLToPath(file) : file;
    // Node maps stacks by itself when it was started with --enable-source-maps.
    if (where.startsWith(`${folder}/`)) return { file: where, line: Number(line) };
    if (where !== path) continue;
    const entry = new SourceMap(JSON.parse(bundle.map)).findEntry(Number(line) - 1, Number(column) - 1);
    if ("originalSource" in entry)
      return { file: resolve(path, "..", entry.originalSource), line: entry.originalLine + 1 };
  }
  return null;
}
