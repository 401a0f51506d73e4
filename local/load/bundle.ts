// An agent's TypeScript as one module. Its own files are bundled; packages stay where they are, so that an agent and the runtime share them.

import { isBuiltin } from "node:module";
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type ImportKind, type Location, type Message, type Metafile, type Plugin } from "esbuild";

/** What `import … from "toren"` means: this very installation, whatever lies in the agent's node_modules. */
const TOREN = fileURLToPath(new URL("../../shared/authoring/index.ts", import.meta.url));

export interface Bundle {
  readonly code: string;
  /** The code with packages by their names instead of their places: equal on every machine. */
  readonly portable: string;
  /** Packages that stayed outside: names by the URL that the code imports. */
  readonly packages: ReadonlyMap<string, string>;
  /** A source map (v3) as JSON text; its sources are relative to `outFolder`. */
  readonly map: string;
  /** Absolute paths of the files that went in. */
  readonly inputs: readonly string[];
}

export interface BuildProblem {
  /** Absolute. */
  readonly file: string;
  readonly line: number | null;
  readonly message: string;
}

export type Bundled =
  | { readonly ok: true; readonly bundle: Bundle }
  | { readonly ok: false; readonly problems: readonly BuildProblem[] };

/** `modules`: what the bundle exports as namespaces, by name: a path inside `folder`. */
export async function bundleModules(
  folder: string,
  modules: ReadonlyMap<string, string>,
  outFolder: string,
): Promise<Bundled> {
  const packages = new Map<string, string>();
  const contents = [...modules]
    .map(([name, path]) => `export * as ${name} from ${JSON.stringify(`./${path}`)};`)
    .join("\n");
  try {
    const result = await build({
      stdin: { contents, resolveDir: folder, sourcefile: "agent", loader: "ts" },
      absWorkingDir: folder,
      outfile: resolve(outFolder, "agent.mjs"),
      bundle: true,
      write: false,
      format: "esm",
      platform: "node",
      target: "node24",
      charset: "utf8",
      legalComments: "none",
      sourcemap: "external",
      sourcesContent: false,
      metafile: true,
      logLevel: "silent",
      loader: { ".md": "text", ".txt": "text" },
      plugins: [packagesStay(packages)],
    });
    const outputs = result.outputFiles.map((file) => [file.path.endsWith(".map"), file.text] as const);
    const code = outputs.find(([isMap]) => !isMap)?.[1] ?? "";
    const map = outputs.find(([isMap]) => isMap)?.[1] ?? "";
    return {
      ok: true,
      bundle: { code, portable: portable(code, packages), packages, map, inputs: inputsOf(result.metafile, folder) },
    };
  } catch (thrown) {
    const errors = (thrown as { errors?: Message[] }).errors;
    if (!Array.isArray(errors)) throw thrown;
    return { ok: false, problems: errors.map((error) => buildProblem(error, folder)) };
  }
}

/** Packages become absolute file URLs, found from the file that imports them; `packages` collects URL → name. */
const packagesStay = (packages: Map<string, string>): Plugin => ({
  name: "packages-stay",
  setup(pluginBuild) {
    const find = async (name: string, from: { resolveDir: string; kind: ImportKind }): Promise<string | null> => {
      const found = await pluginBuild.resolve(name, { ...from, pluginData: ASKED });
      return found.errors.length > 0 || found.external || found.namespace !== "file" ? null : found.path;
    };
    pluginBuild.onResolve({ filter: /^[^./#]/ }, async ({ path: name, resolveDir, kind, pluginData }) => {
      if (pluginData === ASKED || kind === "entry-point" || isBuiltin(name)) return undefined;
      const path =
        name === "toren"
          ? TOREN
          : ((await find(name, { resolveDir, kind })) ?? (await find(name, { resolveDir: OURS[name] ?? "", kind })));
      // A name that leads to sources, not to an installed package (tsconfig's paths, a workspace): bundled like the agent's own files.
      if (path === null || (path !== TOREN && !path.includes(`${sep}node_modules${sep}`))) return undefined;
      const url = pathToFileURL(path).href;
      packages.set(url, name);
      return { path: url, external: true };
    });
  },
});
const ASKED = Symbol("asked");
/** Packages that an agent without a node_modules of its own gets from ours. */
const OURS: Readonly<Record<string, string>> = { zod: dirname(TOREN) };

const portable = (code: string, packages: ReadonlyMap<string, string>): string =>
  [...packages].reduce((text, [url, name]) => text.replaceAll(JSON.stringify(url), JSON.stringify(name)), code);

const inputsOf = (metafile: Metafile, folder: string): string[] =>
  Object.keys(metafile.inputs)
    .filter((path) => path !== "agent")
    .map((path) => resolve(folder, path))
    .sort();

function buildProblem({ text, location, notes }: Message, folder: string): BuildProblem {
  // Of esbuild's options its caller knows, not the author of an agent.
  const hint = notes.find((note) => note.text !== "" && !/mark the path|platform/i.test(note.text))?.text;
  return {
    file: placeOf(location, folder),
    line: location?.line ?? null,
    message: hint === undefined ? text : `${text} (${hint})`,
  };
}

const placeOf = (location: Location | null, folder: string): string =>
  location === null ? folder : resolve(folder, location.file);

/** As people write a path: from where they stand, if it lies below. */
export function displayPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === "" || fromHere.startsWith("..") ? path : fromHere;
}
