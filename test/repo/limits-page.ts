// docs/reference/limits.md, made from shared/core/limits.ts: `node test/repo/limits-page.ts` writes it, limits-page.test.ts holds the two equal.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as limits from "../../shared/core/limits.ts";
import { ROOT, read } from "./files.ts";

export const PAGE = "docs/reference/limits.md";

const HEAD = `# Limits

Every bound of the product, from \`shared/core/limits.ts\`. This page is made from that file: \`node test/repo/limits-page.ts\`.

A name ends in its unit: \`_MS\` milliseconds, \`_BYTES\` bytes of UTF-8, \`_CHARS\` UTF-16 code units, \`_ROWS\`, \`_TASKS\` and so on counts. Bounds are
constants of the code. What can be set is on the page [settings](settings.md); what an agent's author sets is on [agent.yaml](agent-yaml.md).

| limit | value | | why |
|---|---:|---|---|
`;

interface Limit {
  readonly name: string;
  readonly value: number;
  readonly why: string;
}

/** In the file's order, each with its doc comment. A constant without one shares the line above it. */
export function limitsOf(source: string): Limit[] {
  const found: Limit[] = [];
  for (const [, comment, name = ""] of source.matchAll(
    /(?:\/\*\*\s*((?:(?!\*\/)[\s\S])*?)\s*\*\/\n)?^export const ([A-Z][A-Z0-9_]*)/gm,
  )) {
    const value: unknown = (limits as Record<string, unknown>)[name];
    if (typeof value !== "number") throw new Error(`${name} is no number`);
    found.push({ name, value, why: (comment ?? "").replaceAll(/\s*\n\s*\*?\s*/g, " ") });
  }
  return found;
}

/** The number as people say it; empty where it is said already. */
function inWords({ name, value }: Limit): string {
  if (name.endsWith("_MS")) return duration(value);
  if (name.endsWith("_BYTES")) {
    if (value >= 2 ** 20 && value % 2 ** 20 === 0) return `${value / 2 ** 20} MiB`;
    return value >= 1024 && value % 1024 === 0 ? `${value / 1024} KiB` : "";
  }
  return "";
}

function duration(ms: number): string {
  const units = [
    [24 * 60 * 60_000, "d"],
    [60 * 60_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ] as const;
  const unit = units.find(([size]) => ms >= size && ms % size === 0);
  return unit === undefined || ms > 366 * 24 * 60 * 60_000 ? "" : `${ms / unit[0]} ${unit[1]}`;
}

export function limitsPage(source: string): string {
  const rows = limitsOf(source).map(
    (limit) =>
      `| \`${limit.name}\` | ${limit.value.toLocaleString("en-US")} | ${inWords(limit)} | ${limit.why.replaceAll("|", "\\|")} |\n`,
  );
  return HEAD + rows.join("");
}

if (import.meta.main) writeFileSync(join(ROOT, PAGE), limitsPage(read("shared/core/limits.ts")));
