import { stripTypeScriptTypes } from "node:module";
import { describe, expect, test } from "@jest/globals";
import { filesBelow, withoutComments } from "./files.ts";

describe("the core is a pure fold (I1)", () => {
  const IMPURE: readonly (readonly [string, RegExp])[] = [
    ["a clock", /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/],
    ["randomness", /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/],
    ["the environment", /\bprocess\.(env|argv|cwd|pid)\b/],
    ["a timer", /\bset(Timeout|Interval|Immediate)\(/],
    ["I/O", /\bfetch\(|\bconsole\.\w+\(|from "node:(fs|net|http|https|child_process|os)/],
  ];
  test.each(IMPURE)("shared/core holds no %s", (_what, pattern) => {
    const found = filesBelow("shared/core").filter(({ text }) => pattern.test(withoutComments(text)));
    expect(found.map(({ path }) => path)).toEqual([]);
  });
});

test("ports are types: at run time they hold lists of names, and nothing that does anything", () => {
  for (const { path, text } of filesBelow("shared/ports")) {
    const code = withoutComments(stripTypeScriptTypes(text))
      .split("\n")
      .map((line) => line.trim().replaceAll(/\s+/g, " "))
      .filter(
        (line) =>
          line !== "" && line !== ";" && !/^(import|export) \{?\s*\}?;?$/.test(line) && !/^export \{\s*\}/.test(line),
      );
    expect([path, code.filter((line) => !/^export const [A-Z_]+ = \[("[\w-]+",? ?)*\];$/.test(line))]).toEqual([
      path,
      [],
    ]);
  }
});

test("I11: what bounds the engine, the adapters, the API and the handlers lives in core/limits.ts", () => {
  const BOUND = /^(?:export )?const [A-Z][A-Z0-9_]*_(MS|S|BYTES|MAX|MAX_[A-Z]+)\b[^=]*= *[\d(]/gm;
  const found = ["shared/engine", "shared/adapters", "shared/http", "functions"]
    .flatMap(filesBelow)
    .filter(({ path }) => path.endsWith(".ts"))
    .flatMap(({ path, text }) => [...text.matchAll(BOUND)].map((hit) => `${path}: ${hit[0]}`));
  expect(found).toEqual([]);
});
