import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT, read, sections } from "./files.ts";

const page = read("ARCHITECTURE.md");
const NUMBERS = Array.from({ length: 12 }, (_, i) => (i === 5 ? ["I6", "I6a", "I6b"] : [`I${i + 1}`])).flat();

interface Row {
  readonly kept: readonly string[];
  readonly tests: readonly string[];
}

const paths = (cell: string): string[] =>
  [...cell.matchAll(/`([\w./-]+\.(?:ts|sql|mjs))`/g)].map((hit) => hit[1] as string);

/** The table: number, promise, where kept, which test. */
const rows = new Map(
  [...(sections(page, 2).get("Invariants") ?? "").matchAll(/^\| (I\d+[ab]?) \|([^|]*)\|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, number = "", , kept = "", tests = ""]): [string, Row] => [number, { kept: paths(kept), tests: paths(tests) }],
  ),
);

describe("ARCHITECTURE.md says where each invariant is kept, and which test holds it", () => {
  test("all twelve are there, with both that belong to the sixth", () => {
    expect([...rows.keys()]).toEqual(NUMBERS);
  });

  test.each(NUMBERS)("%s: the files that it names quote the number", (number) => {
    const { kept = [], tests = [] } = rows.get(number) ?? {};
    expect(kept.length).toBeGreaterThan(0);
    expect(tests.length).toBeGreaterThan(0);
    const quotes = (path: string): boolean =>
      existsSync(join(ROOT, path)) && new RegExp(`\\b${number}\\b`).test(read(path));
    expect([...kept, ...tests].filter((path) => !quotes(path))).toEqual([]);
    expect(tests.filter((path) => !path.startsWith("test/"))).toEqual([]);
  });
});

test("every path that ARCHITECTURE.md names is there", () => {
  const named = [...page.matchAll(/`((?:shared|functions|local|cdk|agents|test|bench|docs|\.ci)\/[\w./-]*)`/g)].map(
    (hit) => hit[1] as string,
  );
  expect(named.length).toBeGreaterThan(30);
  expect([...new Set(named)].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
