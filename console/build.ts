// Builds the console: script, style and fonts under names that hold the hash of their content, and the page that names them. In memory, in a tenth of a second:
// a laptop does it at the first request (local/console-files.ts), the deployed stack when its bundles are made (cdk/build.ts).
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type BuildOptions, build, type OutputFile } from "esbuild";
import { mediaTypeOf, type StaticFile, type StaticFiles } from "../shared/http/static-files.ts";

const HERE = import.meta.dirname;
const compress = promisify(gzip);

const OPTIONS = {
  entryPoints: { app: join(HERE, "main.tsx"), icon: join(HERE, "icon.svg") },
  outdir: "/console",
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  write: false,
  minify: true,
  format: "esm",
  platform: "browser",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  tsconfigRaw: "{}",
  loader: { ".woff2": "file", ".svg": "copy" },
  legalComments: "none",
  charset: "utf8",
  logLevel: "silent",
} satisfies BuildOptions;

/** @throws esbuild's BuildFailure when a source is broken. */
export async function buildConsole(): Promise<StaticFiles> {
  const { outputFiles } = await build(OPTIONS);
  const files = new Map<string, StaticFile>();
  for (const { path, contents } of outputFiles) await add(files, basename(path), contents);
  const page = pageOf(await readFile(join(HERE, "index.html"), "utf8"), outputFiles);
  await add(files, "index.html", new TextEncoder().encode(page));
  return files;
}

async function add(files: Map<string, StaticFile>, name: string, bytes: Uint8Array): Promise<void> {
  const content = new Uint8Array(bytes);
  const zipped = new Uint8Array(await compress(content, { level: 9 }));
  const gzipped = zipped.byteLength < content.byteLength ? zipped : null; // fonts are compressed already
  files.set(name, { mediaType: mediaTypeOf(name), content, gzip: gzipped });
}

/** Links are relative: the page works under a stage's path. */
function pageOf(template: string, outputs: readonly OutputFile[]): string {
  const named = (start: string, end: string): string => {
    const name = outputs.map(({ path }) => basename(path)).find((n) => n.startsWith(start) && n.endsWith(end));
    if (name === undefined) throw new Error(`the build made no ${start}…${end}`);
    return `console/${name}`;
  };
  return template
    .replace("{{style}}", named("app-", ".css"))
    .replace("{{script}}", named("app-", ".js"))
    .replace("{{icon}}", named("icon-", ".svg"))
    .replace("{{font}}", named("geist-latin-", ".woff2"));
}
