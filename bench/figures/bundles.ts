// What a cold start loads: the handlers with the engine and the store, bundled as for Lambda, loaded by one new process after the other.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build, type Metafile } from "esbuild";
import { type Measure, measures, median, spreadOf } from "../measure.ts";

const run = promisify(execFile);
const ENTRIES = ["empty", "tick", "task"] as const;
type Entry = (typeof ENTRIES)[number];

export async function measureBundles(processes: number): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), "toren-bundles-"));
  try {
    const kib = new Map<Entry, number>();
    for (const entry of ENTRIES) kib.set(entry, (await bundle(entry, folder)) / 1024);
    const taken = await loads(folder, processes);
    const measure = measures("bundles", "none");
    const load = (entry: Entry): number => median(taken[entry]);
    const spread = (entry: Entry) => ({ spread: spreadOf(taken[entry]) });
    return [
      measure("an empty module, to load", load("empty"), "ms", spread("empty")),
      measure("tick, entry", kib.get("tick") ?? Number.NaN, "KiB", { target: { atMost: 300 } }),
      measure("tick, to load", load("tick"), "ms", { target: { atMost: 60 }, ...spread("tick") }),
      measure("task, entry", kib.get("task") ?? Number.NaN, "KiB"),
      measure("task, to load", load("task"), "ms", { target: { atMost: 75 }, ...spread("task") }),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Bytes that are read before the handler can be called: the entry and what it imports at once. What is imported when used lies in files of its own. */
async function bundle(entry: Entry, folder: string): Promise<number> {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../entries/${entry}.ts`, import.meta.url))],
    outdir: join(folder, entry),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node24",
    mainFields: ["module", "main"],
    external: ["pg-native"],
    banner: { js: "import{createRequire as __r}from'node:module';const require=__r(import.meta.url);" },
    legalComments: "none",
    metafile: true,
    logLevel: "error",
  });
  const outputs = metafile.outputs;
  const first = Object.keys(outputs).find((path) => basename(path) === `${entry}.mjs`);
  return first === undefined ? Number.NaN : bytesOf(outputs, first, new Set());
}

function bytesOf(outputs: Metafile["outputs"], path: string, seen: Set<string>): number {
  if (seen.has(path)) return 0;
  seen.add(path);
  const output = outputs[path];
  const eager = (output?.imports ?? []).filter((i) => i.kind === "import-statement" && i.external !== true);
  return eager.reduce((bytes, i) => bytes + bytesOf(outputs, i.path, seen), output?.bytes ?? 0);
}

const LOADER = `const start = performance.now();
await import(process.argv[2]);
console.log(performance.now() - start);
process.exit();`;

/** Milliseconds of every process, one entry after the other. */
async function loads(folder: string, processes: number): Promise<Record<Entry, number[]>> {
  const loader = join(folder, "loader.mjs");
  await writeFile(loader, LOADER);
  const taken: Record<Entry, number[]> = { empty: [], tick: [], task: [] };
  for (let i = -1; i < processes; i++) {
    for (const entry of ENTRIES) {
      const url = pathToFileURL(join(folder, entry, `${entry}.mjs`)).href;
      const { stdout } = await run(process.execPath, [loader, url]);
      if (i >= 0) taken[entry].push(Number(stdout)); // the first of each reads the disk
    }
  }
  return taken;
}
