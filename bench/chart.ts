// Bar charts as SVG text: one scale a chart, bars from zero, a mark where the target is. Colours follow the reader's light or dark page.
import { type Pair, paired, type Report, shown } from "./report.ts";

export interface Chart {
  readonly file: string;
  readonly title: string;
  /** What a reader should see in it. */
  readonly note: string;
  readonly bars: readonly Bar[];
}

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
  readonly kind: "stale" | "fresh" | "bare";
  readonly target: number | null;
}

const WIDTH = 840;
const LEFT = 310;
const RIGHT = 130;
const ROW = 26;
const TOP = 74;

const STYLE = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .note, .axis { fill: #59636e; font-size: 12px; }
  .fresh { fill: #0969da; } .stale { fill: #8250df; } .bare { fill: #8c959f; }
  .target { stroke: #bc4c00; stroke-width: 2; } .zero { stroke: #8c959f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .note, .axis { fill: #9198a1; }
    .fresh { fill: #4493f8; } .stale { fill: #ab7df8; } .bare { fill: #656c76; }
    .target { stroke: #f0883e; } .zero { stroke: #656c76; }
  }`;

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const at = (value: number): string => value.toFixed(1);

export function svg({ title, note, bars }: Chart): string {
  const most = Math.max(...bars.flatMap((bar) => [bar.value, bar.target ?? 0]), Number.MIN_VALUE);
  const x = (value: number): number => LEFT + (value / most) * (WIDTH - LEFT - RIGHT);
  const height = TOP + bars.length * ROW + 16;
  const kinds = [...new Set(bars.map((bar) => bar.kind))];
  const legend = kinds.map(
    (kind, i) =>
      `<rect class="${kind}" x="${LEFT + i * 150}" y="52" width="10" height="10" rx="2"/><text class="axis" x="${LEFT + 16 + i * 150}" y="61">${LEGEND[kind]}</text>`,
  );
  const rows = bars.map((bar, i) => {
    const y = TOP + i * ROW;
    const end = x(bar.value);
    const repeated = bars[i - 1]?.label === bar.label;
    const mark =
      bar.target === null
        ? ""
        : `<line class="target" x1="${at(x(bar.target))}" x2="${at(x(bar.target))}" y1="${y - 1}" y2="${y + 19}"/>`;
    return `<text x="${LEFT - 10}" y="${y + 14}" text-anchor="end">${repeated ? "" : escaped(bar.label)}</text>
<rect class="${bar.kind}" x="${LEFT}" y="${y}" width="${at(Math.max(1, end - LEFT))}" height="18" rx="2"/>${mark}
<text x="${at(Math.max(end, x(bar.target ?? 0)) + 8)}" y="${y + 14}">${escaped(bar.text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>${STYLE}
</style>
<text class="title" x="16" y="24">${escaped(title)}</text>
<text class="note" x="16" y="43">${escaped(note)}</text>
${legend.join("\n")}
${rows.join("\n")}
<line class="zero" x1="${LEFT}" x2="${LEFT}" y1="${TOP - 4}" y2="${height - 12}"/>
</svg>
`;
}

const LEGEND: Readonly<Record<Bar["kind"], string>> = {
  stale: "statistics stale",
  fresh: "statistics fresh",
  bare: "bare cost",
};

/** The bars of some measures, stale before fresh. */
function bars(pairs: readonly Pair[], label: (pair: Pair) => string, bare: (pair: Pair) => boolean): Bar[] {
  return pairs.flatMap((pair) =>
    [pair.stale, pair.fresh].flatMap((m): Bar[] => {
      if (m === undefined) return [];
      const target = m.target === null ? null : "atMost" in m.target ? m.target.atMost : m.target.atLeast;
      const kind = bare(pair) ? "bare" : m.statistics === "stale" ? "stale" : "fresh";
      const text = `${shown(m.value, m.unit)}${kind === "bare" && pair.stale !== undefined ? ` (${m.statistics})` : ""}`;
      return [{ label: label(pair), value: m.value, text, kind, target }];
    }),
  );
}

const isBare = ({ what }: Pair): boolean => what.startsWith("bare inserts");

export function charts(report: Report): Chart[] {
  const pairs = paired(report);
  const of = (figure: string, what: RegExp) => pairs.filter((p) => p.figure === figure && what.test(p.what));
  const ratios = pairs.filter((p) => p.fresh.unit === "×" && p.fresh.target !== null);
  const high = ratios.filter((p) => p.fresh.target !== null && "atLeast" in p.fresh.target);
  const low = ratios.filter((p) => !high.includes(p));
  const name = (p: Pair): string => (p.what.includes(p.figure) ? p.what : `${p.figure}: ${p.what}`);
  const what = (p: Pair): string => p.what;
  return [
    {
      file: "ratios.svg",
      title: "Ratios that should stay low",
      note: "The mark is the target: a bar that ends before it meets it.",
      bars: bars(low, name, () => false),
    },
    {
      file: "throughput.svg",
      title: "Writes a second",
      note: "64 runs through the whole engine, beside plain inserts of one row each into a table like the log.",
      bars: bars(of("throughput", /^(bare|appends of)/), what, isBare),
    },
    {
      file: "resume.svg",
      title: "Resuming a long task: CPU per step",
      note: "What the worker spends beyond the resume of an empty log, divided by the steps.",
      bars: bars(of("resume", /^CPU per step, [\d,]+ steps/), what, () => false),
    },
    {
      file: "wave.svg",
      title: "Waves: time per task",
      note: "From the start of the run to its end, divided by the tasks: flat.",
      bars: bars(of("wave", /^per task, wave/), what, () => false),
    },
  ];
}
