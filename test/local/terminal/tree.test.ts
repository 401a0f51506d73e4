import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { createProgress } from "../../../local/terminal/progress.ts";
import { styleOf } from "../../../local/terminal/style.ts";
import { cut, type Output, oneLine, printable } from "../../../local/terminal/terminal.ts";
import { accountLines, headline, treeLines, visible } from "../../../local/terminal/tree.ts";
import { ago, cost, duration, tokens, usd } from "../../../local/terminal/units.ts";
import type { RunJson, TaskJson } from "../../../shared/http/run-json.ts";

const NO_RECEIPT = { modelCalls: 0, replayed: 0, repaid: 0, unanswered: 0, savedTokens: 0, savedUsd: 0 };
const task = (taskId: string, role: string, more: Partial<TaskJson> = {}): TaskJson => ({
  taskId,
  role,
  status: "ended",
  outcome: "completed",
  wait: null,
  wakeAt: null,
  problem: null,
  startedAt: null,
  endedAt: null,
  usage: { input: 1_000, cacheRead: 0, cacheWrite: 0, output: 234, reasoning: 0 },
  costUsd: 0.0123,
  simulated: false,
  receipt: { ...NO_RECEIPT, modelCalls: 2 },
  ...more,
});
const run = (waves: RunJson["waves"], more: Partial<RunJson> = {}): RunJson => ({
  runId: "01980f2e-7c1a-4d5b-9e3f-000000000001",
  agent: "crew",
  process: "main",
  mode: "task",
  status: "running",
  attributes: {},
  modelCalls: 0,
  tokens: 0,
  error: null,
  generation: 1,
  retries: 0,
  forkedFrom: null,
  parent: null,
  children: [],
  childCount: 0,
  below: null,
  createdAt: "2026-01-01T00:00:00.000Z",
  endedAt: null,
  input: "x",
  output: null,
  wait: null,
  problem: null,
  reason: null,
  approvals: [],
  signals: [],
  cuts: [],
  turns: null,
  turnCount: null,
  budget: null,
  usage: { input: 3_000, cacheRead: 500, cacheWrite: 0, output: 700, reasoning: 0 },
  costUsd: 0.05,
  simulated: false,
  receipt: { ...NO_RECEIPT, modelCalls: 7 },
  waves,
  ...more,
});

const output = (size: { columns: number; rows: number } | null, colour = false) => {
  const written: string[] = [];
  const to: Output = { write: (text) => void written.push(text), size: () => size, colour };
  return { to, written, text: () => written.join("") };
};
const options = (more = {}) => ({
  style: styleOf(output(null).to),
  names: new Map([[1, "dig"]]),
  columns: 100,
  rows: 40,
  ...more,
});

const THREE = run([
  { wave: 0, tasks: [task("w0t0", "planner")] },
  {
    wave: 1,
    tasks: [
      task("w1t0", "digger"),
      task("w1t1", "digger", { outcome: "failed" }),
      task("w1t2", "digger", { status: "running", outcome: null, receipt: NO_RECEIPT }),
    ],
  },
]);

describe("the tree", () => {
  test("a wave of one is a line; a larger one has a head with its sum, then its tasks", () => {
    expect(treeLines(THREE, options())).toEqual([
      "  ✔ planner                         2 calls   1,234 tokens    $0.0123",
      "  ◐ dig  2 of 3                     4 calls   3,702 tokens    $0.0369",
      "    ✔ digger w1t0                   2 calls   1,234 tokens    $0.0123",
      "    ✘ digger w1t1                   2 calls   1,234 tokens    $0.0123",
      "    ◐ digger w1t2",
    ]);
  });

  test("with less room than lines, waves are one line each, but for what failed; then the oldest go", () => {
    const many = run([
      ...THREE.waves,
      {
        wave: 2,
        tasks: Array.from({ length: 200 }, (_, i) => task(`w2t${i}`, "digger", i === 7 ? { outcome: "failed" } : {})),
      },
    ]);
    const brief = treeLines(many, options({ rows: 10 }));
    expect(brief).toHaveLength(5);
    expect(brief.at(-1)).toContain("w2t7");
    const least = treeLines(many, options({ rows: 3 }));
    expect(least).toHaveLength(3);
    expect(least[0]).toContain("3 lines above");
  });

  test("no line is wider than the terminal", () => {
    for (const columns of [20, 40, 60]) {
      const wide = treeLines(THREE, options({ columns })).filter((text) => visible(text) > Math.max(columns, 30));
      expect(wide).toEqual([]);
    }
  });

  test("what a task waits for, and why its writer stepped back, stand beside it", () => {
    const waits = { status: "parked", outcome: null } as const;
    const lines = treeLines(
      run([
        { wave: 0, tasks: [task("w0t0", "a", { ...waits, wait: "retry" })] },
        {
          wave: 1,
          tasks: [
            task("w1t0", "b", { ...waits, wait: "cut", problem: { code: "cut.storm", message: "the system\nprompt" } }),
          ],
        },
      ]),
      options({ names: new Map() }),
    );
    expect(lines[0]).toMatch(/◌ a .*waits to try again$/);
    expect(lines[1]).toMatch(/cut\.storm: the system prompt$/);
  });
});

describe("what a run came to", () => {
  const style = options().style;
  test("prices that are made up are called simulated, unknown ones unknown, and never zero", () => {
    const line = (more: Partial<RunJson>) => accountLines(run([], more), style)[0];
    expect(line({})).toBe("  7 model calls · 4,200 tokens (3,000 in, 500 cached, 700 out) · $0.0500");
    expect(line({ simulated: true })).toMatch(/simulated \$0\.0500$/);
    expect(line({ costUsd: null })).toMatch(/cost unknown$/);
  });

  test("the receipt says what was saved, and what was paid twice", () => {
    const receipt = { ...NO_RECEIPT, modelCalls: 7, replayed: 3, unanswered: 1, savedTokens: 4_200, savedUsd: 0.02 };
    expect(accountLines(run([], { receipt }), style)).toEqual([
      "  7 model calls · 1 without an answer · 4,200 tokens (3,000 in, 500 cached, 700 out) · $0.0500",
      "  replayed 3 (saved 4,200 tokens, $0.0200) · re-paid 0",
    ]);
  });

  test("the headline tells how long: while it grows in whole seconds", () => {
    const at = (ms: number) => Date.parse("2026-01-01T00:00:00.000Z") + ms;
    expect(headline(run([]), style, at(12_345))).toBe("◐ crew  running 12 s  01980f2e");
    const ended = { status: "failed", endedAt: "2026-01-01T00:00:02.500Z" } as const;
    expect(headline(run([], ended), style, at(99_000))).toBe("✘ crew  failed in 2.5 s  01980f2e");
  });

  test("numbers are short", () => {
    expect([0, 9_999, 12_345, 1_234_567].map(tokens)).toEqual(["0", "9,999", "12.3k", "1.2M"]);
    expect([0, 0.00042, 1.5, 123.4].map(usd)).toEqual(["$0", "$0.0004", "$1.50", "$123"]);
    expect([5, 1_500, 61_000, 3_700_000, 400_000_000].map(duration)).toEqual([
      "5 ms",
      "1.5 s",
      "1 min 1 s",
      "1 h 1 min",
      "4 days",
    ]);
    expect([-5, 59_000, 3_600_000].map(ago)).toEqual(["0 s ago", "59 s ago", "1 h ago"]);
    expect(cost(null, true)).toBe("cost unknown");
  });
});

describe("progress", () => {
  test("on a terminal each drawing takes the place of the one before, and the cursor comes back", () => {
    const { to, written, text } = output({ columns: 60, rows: 20 });
    const progress = createProgress(to);
    progress.show(THREE, new Map());
    progress.show(run(THREE.waves, { status: "completed", endedAt: "2026-01-01T00:00:02.500Z" }), new Map());
    progress.end();
    const lines = stripVTControlCharacters(written[1] ?? "").split("\n").length - 1;
    expect(written[2]).toContain(`\u001b[${lines}F\u001b[J`);
    expect(text().startsWith("\u001b[?25l")).toBe(true);
    expect(text().endsWith("\u001b[?25h")).toBe(true);
  });

  test("elsewhere each change is a line, once, without colours or moves", () => {
    const { to, text } = output(null);
    const progress = createProgress(to);
    for (let i = 0; i < 3; i++) progress.show(THREE, new Map([[1, "dig"]]));
    expect(text()).toBe(
      [
        "w0t0 planner done",
        "w1t0 digger (dig) done",
        "w1t1 digger (dig) failed",
        "w1t2 digger (dig) running",
        "run 01980f2e running",
        "",
      ].join("\n"),
    );
  });

  test("NO_COLOR and pipes get no colours", () => {
    expect(styleOf(output({ columns: 80, rows: 24 }, false).to).red("x")).toBe("x");
    expect(styleOf(output({ columns: 80, rows: 24 }, true).to).red("x")).toBe("\u001b[31mx\u001b[39m");
  });
});

describe("text of others on a terminal", () => {
  test("can't move the cursor, colour or reorder", () => {
    expect(printable("a\u001b[2Jb\u0000\u009bc\u202ed\ne\tf")).toBe("a\u{FFFD}[2Jb\u{FFFD}\u{FFFD}c\u{FFFD}d\ne\tf");
    expect(oneLine(" a\r\n b ")).toBe("a\u{FFFD} b");
  });

  test("is cut between characters, not through them", () => {
    expect(cut("😀😀😀", 2)).toBe("😀…");
    expect(cut("😀😀", 2)).toBe("😀😀");
  });
});

test("a run's children stand below its waves, in brief where there is no room, and what all below came to beside its own", () => {
  const spent = { modelCalls: 3, tokens: 1_200, costUsd: 0.5, simulated: false };
  const at = { createdAt: "2026-01-01T00:00:00.000Z", endedAt: null };
  const children: RunJson["children"] = [
    { runId: "11111111-x", process: "chapter", status: "running", ...at, ...spent },
    { runId: "22222222-x", process: "x", status: "completed", ...at, endedAt: at.createdAt, ...spent, modelCalls: 0 },
  ];
  const parent = run([], { children, childCount: 12, below: { runs: 13, waiting: 0, ...spent } });
  const style = styleOf(output(null).to);
  const lines = (rows: number): string[] =>
    treeLines(parent, { style, names: new Map(), columns: 200, rows }).map((line) =>
      stripVTControlCharacters(line).trim(),
    );
  expect(lines(99)).toEqual([
    expect.stringMatching(/runs {2}1 of 12$/),
    expect.stringMatching(/chapter 11111111 .*3 calls.*1,200 tokens.*\$0\.50/),
    expect.stringMatching(/x 22222222$/),
    "… and 10 more",
  ]);
  expect(lines(2)).toEqual([expect.stringMatching(/runs {2}1 of 12$/)]);
  expect(accountLines(parent, style)).toContain("  below it 13 runs: 3 model calls · 1,200 tokens · $0.5000");
});
