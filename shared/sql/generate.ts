// Writes queries.ts from the .sql files, so that they load alike under node, in tests and inside a bundle. Run: node shared/sql/generate.ts
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const here = new URL("./", import.meta.url);

/** The statement alone: comments stay in the .sql files. No SQL text of ours holds `--` in a string. */
export const strip = (sql: string): string =>
  sql
    .split("\n")
    .map((line) => line.replace(/\s*--.*$/, ""))
    .filter((line) => line.trim() !== "")
    .join("\n");

const key = (name: string): string => (/^[a-z]+$/.test(name) ? name : `"${name}"`);

function folder(path: string, indent: string): string {
  const names = readdirSync(new URL(path, here)).filter((name) => name.endsWith(".sql"));
  const entries = names.sort().map((name) => {
    const text = strip(readFileSync(new URL(`${path}/${name}`, here), "utf8"));
    return `${indent}  ${key(name.replace(/\.sql$/, ""))}: \`\n${text}\n\`,`;
  });
  return `{\n${entries.join("\n")}\n${indent}}`;
}

/** What queries.ts must hold. */
export const generated = (): string =>
  `// All of the SQL in one module, hence its length. Made by generate.ts from the .sql files, which say why: change those.
export const QUERIES = ${folder("queries", "")} as const;

export type Verb = keyof typeof QUERIES;

/** In the order of their numbers. \`:agent\` stands for the schema of an agent. */
export const MIGRATIONS = {
  control: ${folder("migrations/control", "  ")},
  agent: ${folder("migrations/agent", "  ")},
} as const;
`;

if (import.meta.main) writeFileSync(new URL("queries.ts", here), generated());
