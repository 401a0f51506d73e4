// The table of models as docs/reference/models.md shows it. Run it to write the page's part anew: node test/adapters/model/models-page.ts
import { readFileSync, writeFileSync } from "node:fs";
import { KNOWN_MODELS } from "../../../shared/adapters/model/table.ts";
import type { ModelFacts, Price } from "../../../shared/ports/model.ts";

export const PAGE = new URL("../../../docs/reference/models.md", import.meta.url);
const BEGIN = "<!-- the table: shared/adapters/model/table.ts -->";
const END = "<!-- the table's end -->";

const usd = (amount: number): string => `$${amount}`;
const rates = ({ input, cacheRead, cacheWrite, output }: Omit<Price, "simulated" | "long">): string =>
  [input, cacheRead, cacheWrite, output].map(usd).join(" / ");

function row([name, { price, contextWindow, maxOutput, images, pdf }]: readonly [string, ModelFacts]): string {
  const long = price?.long;
  const prices =
    price === null
      ? "unknown"
      : `${rates(price)}${long === undefined ? "" : `; above ${long.aboveTokens.toLocaleString("en")} tokens ${rates(long)}`}`;
  const tokens = (count: number | null): string => (count === null ? "unknown" : count.toLocaleString("en"));
  const shown = [...(images ? ["images"] : []), ...(pdf ? ["PDF"] : [])].join(", ") || "text only";
  return `| \`${name}\` | ${prices} | ${tokens(contextWindow)} | ${tokens(maxOutput)} | ${shown} |`;
}

export const tableText = (): string =>
  [
    "| model | input / cache read / cache write / output | window | most output | takes |",
    "|---|---|---|---|---|",
    ...KNOWN_MODELS.map(row),
  ].join("\n");

/** The page with today's table in it. */
export function withTable(page: string): string {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from < 0 || to < from) throw new Error(`docs/reference/models.md has no ${BEGIN} … ${END}`);
  return `${page.slice(0, from)}${BEGIN}\n${tableText()}\n${page.slice(to)}`;
}

if (import.meta.main) writeFileSync(PAGE, withTable(readFileSync(PAGE, "utf8")));
