// What a cold start loads: the deployed functions with the example agents, as the stack's build makes them, loaded by one new process after the other.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { buildFunctions } from "../../cdk/build.ts";
import { type Measure, measures, median, spreadOf } from "../measure.ts";

const run = promisify(execFile);
const AGENTS = fileURLToPath(new URL("../../agents", import.meta.url));
/** At most, in milliseconds and KiB. */
const TARGETS: Readonly<Record<string, { readonly load?: number; readonly entry?: number }>> = {
  tick: { load: 60, entry: 300 },
  task: { load: 75 },
};

export async function measureBundles(processes: number): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), "toren-bundles-"));
  try {
    const built = await buildFunctions({ agents: AGENTS, out: folder });
    await mkdir(join(folder, "empty"));
    await writeFile(join(folder, "empty", "index.mjs"), "export const handler = () => {};\n");
    // A worker for long tasks begins to work when it is loaded; how fast it starts nobody waits for.
    const loaded = ["empty", ...built.map(({ name }) => name).filter((name) => name !== "long-task")];
    const taken = await loads(folder, loaded, processes);
    const measure = measures("bundles", "none");
    const load = (name: string): Measure => {
      const ms = taken.get(name) ?? [];
      const { load: atMost } = TARGETS[name] ?? {};
      const what = name === "empty" ? "an empty module, to load" : `${name}, to load`;
      return measure(what, median(ms), "ms", {
        spread: spreadOf(ms),
        ...(atMost === undefined ? {} : { target: { atMost } }),
      });
    };
    return [
      load("empty"),
      ...built.flatMap(({ name, entryBytes }) => {
        const { entry: atMost } = TARGETS[name] ?? {};
        const target = atMost === undefined ? {} : { target: { atMost } };
        const size = measure(`${name}, entry`, entryBytes / 1_024, "KiB", target);
        return taken.has(name) ? [size, load(name)] : [size];
      }),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Lambda has one global of its own: the function that streams is wrapped by it. */
const LOADER = `globalThis.awslambda = { streamifyResponse: (handler) => handler };
const start = performance.now();
await import(process.argv[2]);
console.log(performance.now() - start);
process.exit();`;

/** Milliseconds of every process, by function, one function after the other. */
async function loads(folder: string, names: readonly string[], processes: number): Promise<Map<string, number[]>> {
  const loader = join(folder, "loader.mjs");
  await writeFile(loader, LOADER);
  const taken = new Map(names.map((name): [string, number[]] => [name, []]));
  for (let i = -1; i < processes; i++) {
    for (const [name, ms] of taken) {
      const url = pathToFileURL(join(folder, name, "index.mjs")).href;
      const { stdout } = await run(process.execPath, [loader, url]);
      if (i >= 0) ms.push(Number(stdout)); // the first of each reads the disk
    }
  }
  return taken;
}
