// What is another module in a bundle than in the sources: the agents' manifest, where `toren` and an agent's zod come from, what the PDF reader's thread
// is called, and pg's other driver, which needs a library of the system's that no function has.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Plugin } from "esbuild";

const ASKED = Symbol("asked");

/** `manifest`: the text of a module as functions/bundled-agents.ts is one. */
export const replacedModules = (root: string, manifest: string): Plugin => ({
  name: "replaced-modules",
  setup(build) {
    build.onLoad({ filter: /[\\/]functions[\\/]bundled-agents\.ts$/ }, () => ({
      contents: manifest,
      loader: "ts",
      resolveDir: root,
    }));
    build.onLoad({ filter: /[\\/]adapters[\\/]files[\\/]pdf\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const contents = source.replace('"./pdf-thread.ts"', '"./pdf-thread.mjs"');
      if (contents === source) throw new Error(`${path} starts no ./pdf-thread.ts: the build must know its thread`);
      return { contents, loader: "ts", resolveDir: dirname(path) };
    });
    build.onLoad({ filter: /[\\/]pg[\\/]lib[\\/]native[\\/]index\.js$/ }, () => ({
      contents: "module.exports = null;",
      loader: "js",
    }));
    build.onResolve({ filter: /^toren$/ }, () => ({ path: join(root, "shared/authoring/index.ts") }));
    // An agent without a node_modules of its own gets ours, as on a laptop.
    build.onResolve({ filter: /^zod(\/|$)/ }, async ({ path, resolveDir, kind, pluginData }) => {
      if (pluginData === ASKED) return undefined;
      const own = await build.resolve(path, { resolveDir, kind, pluginData: ASKED });
      return own.errors.length === 0 ? own : await build.resolve(path, { resolveDir: root, kind, pluginData: ASKED });
    });
  },
});
