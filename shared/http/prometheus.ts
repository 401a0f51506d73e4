// Prometheus' text format, version 0.0.4. A client library keeps its numbers in the process; ours are read when somebody asks, so that writing them is all
// there is to do. `npm run test:api` holds what is written against Prometheus' own parser.
import type { Histogram } from "../core/histogram.ts";

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

type Labels = Readonly<Record<string, string>>;
export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly samples: readonly Sample[];
}
export interface HistogramFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "histogram";
  readonly histogram: Histogram;
}

/** A family without samples is left out. */
export function prometheusText(families: readonly (Family | HistogramFamily)[]): string {
  return families.map((family) => (family.type === "histogram" ? histogramText(family) : familyText(family))).join("");
}

const head = ({ name, help, type }: Pick<Family, "name" | "help"> & { readonly type: string }): string =>
  `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;

const familyText = (family: Family): string =>
  family.samples.length === 0
    ? ""
    : head(family) + family.samples.map(({ labels = {}, value }) => line(family.name, labels, value)).join("");

function histogramText({ histogram: { bounds, counts, sum }, ...family }: HistogramFamily): string {
  let below = 0;
  const buckets = counts.map((count, i) => {
    below += count;
    return line(`${family.name}_bucket`, { le: String(bounds[i] ?? "+Inf") }, below);
  });
  return `${head(family)}${buckets.join("")}${line(`${family.name}_sum`, {}, sum)}${line(`${family.name}_count`, {}, below)}`;
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
