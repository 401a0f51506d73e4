// Texts that models see are part of the digest contract: word for word what they were.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import * as texts from "../../../shared/core/task/texts.ts";

interface Vector {
  readonly text: string;
  readonly args: readonly never[];
  readonly says: string;
}
const vectors: { cases: Vector[] } = JSON.parse(
  readFileSync(new URL("../../vectors/texts.json", import.meta.url), "utf8"),
);

const spoken = new Map<string, (...given: readonly never[]) => string>(Object.entries(texts));

describe("texts that models see", () => {
  test.each(vectors.cases)("golden: $text", ({ text, args, says }) => {
    expect(spoken.get(text)?.(...args)).toBe(says);
  });

  test("each one has a vector", () => {
    expect([...new Set(vectors.cases.map((v) => v.text))].sort()).toEqual([...spoken.keys()].sort());
  });
});
