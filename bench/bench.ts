// `npm run bench [-- --json] [--quick] [--out FOLDER]`: the product's ratios on this machine, each beside what it is a ratio of. Prints a table, or JSON;
// writes the charts and latest.json to bench/results. `--quick` measures next to nothing, and writes only where it is told to. Exit 0 whatever was found.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { charts, svg } from "./chart.ts";
import { QUICK, WHOLE } from "./plan.ts";
import { circumstances, startReport, table } from "./report.ts";
import { run } from "./run.ts";

const { values } = parseArgs({
  options: { json: { type: "boolean" }, quick: { type: "boolean" }, out: { type: "string" } },
});
const quick = values.quick ?? false;
const report = startReport(quick);
const begun = performance.now();
const told = (what: string): void => {
  console.error(`${Math.round((performance.now() - begun) / 1_000)} s`.padStart(6), what);
};

const found = report(await run(quick ? QUICK : WHOLE, process.env.DATABASE_URL || undefined, told));
const out = values.out ?? (quick ? null : fileURLToPath(new URL("./results", import.meta.url)));
if (out !== null) {
  await mkdir(out, { recursive: true });
  for (const chart of charts(found)) await writeFile(join(out, chart.file), svg(chart));
  await writeFile(join(out, "latest.json"), `${JSON.stringify(found, null, 2)}\n`);
}
console.log(values.json ? JSON.stringify(found, null, 2) : `${table(found)}\n\n${circumstances(found)}`);
