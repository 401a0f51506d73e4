// Builds the bundles: `node cdk/build.ts [--agents FOLDER] [--out FOLDER] [--quiet]`. One folder a function, `<out>/<function>/index.mjs`, with what is loaded
// later in files beside it. Agents are in them as code, their prompts and agent.yaml as values. What is wrong is said on stderr, and nothing is written then.
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type BuildOptions, build, type Message } from "esbuild";
import { buildConsole } from "../console/build.ts";
import { manifestOf } from "./build-agents.ts";
import { bytesAtOnce } from "./bundle-size.ts";
import { certificates } from "./certificates.ts";
import { StackProblem } from "./problem.ts";
import { replacedModules } from "./replaced-modules.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const ENTRIES = join(ROOT, "functions/entries");
const PDF_THREAD = join(ROOT, "shared/adapters/files/pdf-thread.ts");
/** The function that serves the console. */
const CONSOLE_SERVER = "api";
const PDF_READER = "shared/adapters/files/pdf.ts";

export interface BuildRequest {
  /** The folder with the agents. */
  readonly agents: string;
  /** Gets a folder for each function; what was in it before is gone. */
  readonly out: string;
  /** Default: all entries of functions/entries. */
  readonly only?: readonly string[];
}

export interface BuiltFunction {
  readonly name: string;
  /** What is read before the handler can be called: the entry and what it imports at once. */
  readonly entryBytes: number;
  /** All of its code, loaded later or never. */
  readonly bytes: number;
}

/** @throws StackProblem that says what is wrong, a line a problem. */
export async function buildFunctions({ agents, out, only }: BuildRequest): Promise<BuiltFunction[]> {
  const work = await mkdtemp(join(tmpdir(), "toren-build-"));
  try {
    const manifest = await manifestOf(resolve(agents), join(work, "agents"));
    const names = only ?? (await entryNames());
    const built: BuiltFunction[] = [];
    for (const name of names) built.push(await buildFunction(name, join(work, name), manifest));
    await mkdir(out, { recursive: true });
    for (const name of names) {
      await rm(join(out, name), { recursive: true, force: true });
      await move(join(work, name), join(out, name));
    }
    return built;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export const entryNames = async (): Promise<string[]> =>
  (await readdir(ENTRIES))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => basename(file, ".ts"))
    .sort();

const OPTIONS = {
  absWorkingDir: ROOT,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  minify: true,
  lineLimit: 500, // an error that ends the process prints its whole line
  format: "esm",
  platform: "node",
  target: "node24",
  mainFields: ["module", "main"],
  external: ["pg-native"],
  banner: { js: "import{createRequire as __r}from'node:module';const require=__r(import.meta.url);" },
  loader: { ".md": "text", ".txt": "text" },
  legalComments: "none",
  charset: "utf8",
  logLevel: "silent",
} satisfies BuildOptions;

async function buildFunction(name: string, folder: string, manifest: string): Promise<BuiltFunction> {
  try {
    const { metafile } = await build({
      ...OPTIONS,
      entryPoints: { index: join(ENTRIES, `${name}.ts`) },
      outdir: folder,
      splitting: true,
      chunkNames: "part-[hash]",
      metafile: true,
      plugins: [replacedModules(ROOT, manifest)],
    });
    if (Object.keys(metafile.inputs).includes(PDF_READER))
      await build({ ...OPTIONS, entryPoints: { "pdf-thread": PDF_THREAD }, outdir: folder });
    await writeCertificates(folder);
    if (name === CONSOLE_SERVER) await writeConsole(join(folder, "console"));
    const entry = Object.keys(metafile.outputs).find((path) => basename(path) === "index.mjs") ?? "";
    const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
    return { name, entryBytes: bytesAtOnce(metafile.outputs, entry), bytes };
  } catch (thrown) {
    throw bundleProblem(thrown);
  }
}

/** As functions/bundled-console.ts reads it. */
async function writeConsole(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, { content, gzip }] of await buildConsole()) {
    await writeFile(join(folder, name), content);
    if (gzip !== null) await writeFile(join(folder, `${name}.gz`), gzip);
  }
}

async function writeCertificates(folder: string): Promise<void> {
  await mkdir(join(folder, "certificates"), { recursive: true });
  for (const [region, pem] of certificates()) await writeFile(join(folder, "certificates", `${region}.pem`), pem);
}

function bundleProblem(thrown: unknown): unknown {
  const errors = (thrown as { errors?: Message[] }).errors;
  if (!Array.isArray(errors)) return thrown;
  const lines = errors.map(({ text, location }) =>
    location === null ? text : `${location.file}:${location.line}: ${text}`,
  );
  return new StackProblem(`The code can't be bundled:\n${lines.join("\n")}`);
}

/** Another file system's folder can't be renamed into this one. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== "EXDEV") throw e;
    const { cp } = await import("node:fs/promises");
    await cp(from, to, { recursive: true });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      agents: { type: "string", default: "agents" },
      out: { type: "string", default: "dist" },
      quiet: { type: "boolean", default: false },
    },
  });
  const built = await buildFunctions({ agents: values.agents, out: values.out });
  if (values.quiet) return;
  const kib = (bytes: number): string => `${(bytes / 1024).toFixed(0).padStart(6)} KiB`;
  for (const { name, entryBytes, bytes } of built)
    console.log(`${name.padEnd(12)}${kib(entryBytes)} at once, ${kib(bytes)} in all`);
}

if (import.meta.main) {
  try {
    await main();
  } catch (e) {
    console.error(e instanceof StackProblem ? e.message : e);
    process.exitCode = 1;
  }
}
