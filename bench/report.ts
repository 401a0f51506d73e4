// What a run found, as a table for people and as JSON for programs.
import { availableParallelism, loadavg } from "node:os";
import { type Measure, met } from "./measure.ts";
import type { Found } from "./run.ts";

export interface Report {
  /** When the run began, ISO 8601. */
  readonly at: string;
  readonly seconds: number;
  readonly cores: number;
  /** Of the last minute, at the begin and the end: above the number of cores others were at work too. */
  readonly load: readonly [number, number];
  readonly node: string;
  readonly server: string;
  readonly quick: boolean;
  readonly measures: readonly (Measure & { readonly met: boolean | null })[];
}

/** Begins to count the time. */
export function startReport(quick: boolean): (found: Found) => Report {
  const at = new Date().toISOString();
  const begun = performance.now();
  const before = loadavg()[0] ?? 0;
  return ({ server, measures }) => ({
    at,
    seconds: Math.round((performance.now() - begun) / 1_000),
    cores: availableParallelism(),
    load: [round(before), round(loadavg()[0] ?? 0)],
    node: process.versions.node,
    server,
    quick,
    measures: measures.map((measure) => ({ ...measure, met: met(measure) })),
  });
}

const round = (value: number): number => Number(value.toPrecision(4));

const number = (value: number): string =>
  value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });

export const shown = (value: number, unit: string): string => `${number(value)} ${unit}`;

type Noted = Report["measures"][number];

/** The same measure under stale and under fresh statistics; `fresh` alone where no table is asked. */
export interface Pair {
  readonly figure: string;
  readonly what: string;
  readonly stale: Noted | undefined;
  readonly fresh: Noted;
}

/** In the order of the fresh half, which holds everything. */
export const paired = (report: Report): Pair[] =>
  report.measures
    .filter((m) => m.statistics !== "stale")
    .map((fresh) => ({
      figure: fresh.figure,
      what: fresh.what,
      fresh,
      stale: report.measures.find(
        (m) => m.statistics === "stale" && m.figure === fresh.figure && m.what === fresh.what,
      ),
    }));

/** One line a measure, its value under stale and fresh statistics side by side. */
export function table(report: Report): string {
  const rows = paired(report).map(({ figure, what, stale, fresh }) => [
    figure,
    what,
    cell(stale),
    cell(fresh),
    wanted(fresh),
    verdict([stale, fresh]),
  ]);
  const named = rows.map((row, i) => (rows[i - 1]?.[0] === row[0] ? ["", ...row.slice(1)] : row));
  const lines = [["figure", "what", "stale", "fresh", "target", ""], ...named];
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const aligned = (text: string, i: number): string =>
    i === 2 || i === 3 ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0);
  return lines.map((line) => line.map(aligned).join("  ").trimEnd()).join("\n");
}

function cell(measure: Noted | undefined): string {
  if (measure === undefined) return "";
  const { value, unit, spread } = measure;
  const between = spread === null ? "" : ` (${number(spread[0])}–${number(spread[1])})`;
  return `${shown(value, unit)}${between}`;
}

const wanted = ({ target, unit }: Noted): string => {
  if (target === null) return "";
  return "atMost" in target ? `≤ ${shown(target.atMost, unit)}` : `≥ ${shown(target.atLeast, unit)}`;
};

function verdict(measured: readonly (Noted | undefined)[]): string {
  const known = measured.flatMap((m) => (m === undefined || m.met === null ? [] : [m.met]));
  if (known.length === 0) return "";
  return known.every((ok) => ok) ? "met" : "falls short";
}

/** Where and when, in one line: absolute times mean nothing without it. */
export const circumstances = ({ at, seconds, cores, load, node, server }: Report): string =>
  `${at.slice(0, 10)}, ${cores} cores, load ${load[0]} before and ${load[1]} after, Node ${node}, ${server}, ${seconds} s`;
