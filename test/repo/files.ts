// The repository's own files, as the tests about the repository read them.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** Made, installed, or of others: not the repository's to answer for. */
const SKIPPED = new Set(["node_modules", ".git", ".toren", "cdk.out", "dist", "coverage"]);

export interface RepoFile {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every text file below `folder`, sorted. A file that holds U+0000 isn't text. */
export function filesBelow(folder: string): RepoFile[] {
  const found: RepoFile[] = [];
  const walk = (path: string): void => {
    for (const name of readdirSync(path).sort()) {
      if (SKIPPED.has(name) || name.endsWith(".log")) continue;
      const child = join(path, name);
      if (statSync(child).isDirectory()) walk(child);
      else {
        const text = readFileSync(child, "utf8");
        if (!text.includes("\u0000")) found.push({ path: relative(ROOT, child).split("\\").join("/"), text });
      }
    }
  };
  walk(join(ROOT, folder));
  return found;
}

export const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The file's code without its comments, near enough for a look for words: strings keep theirs. */
export const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|[\s;{}(,])\/\/.*$/gm, "$1");

/** The parts of a page of Markdown under headings of a level, by the heading's text (back-quotes taken away). */
export function sections(markdown: string, level: number): Map<string, string> {
  const parts = markdown.split(new RegExp(`^${"#".repeat(level)} `, "m")).slice(1);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end).replaceAll("`", "").trim(), part.slice(end + 1)];
    }),
  );
}
