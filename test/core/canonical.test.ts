// Canonical JSON (RFC 8785, c19): the golden cases, and what holds for every value.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { canonical, type Json, toJson } from "../../shared/core/json.ts";
import { json, reversed } from "./arbitraries.ts";

interface Vector {
  readonly name: string;
  readonly text: string;
  readonly canonical: string;
}
const vectors: { cases: Vector[] } = JSON.parse(
  readFileSync(new URL("../vectors/canonical.json", import.meta.url), "utf8"),
);

describe("canonical", () => {
  test.each(vectors.cases)("golden: $name", (vector) => {
    expect(canonical(JSON.parse(vector.text) as Json)).toBe(vector.canonical);
    expect(canonical(toJson(JSON.parse(vector.text)))).toBe(vector.canonical);
    expect(canonical(JSON.parse(vector.canonical) as Json)).toBe(vector.canonical);
  });

  test("of its own text is the same text", () => {
    fc.assert(fc.property(json, (value) => expect(canonical(JSON.parse(canonical(value)))).toBe(canonical(value))));
  });

  test("equal values have equal texts, whatever the order of their keys", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonical(reversed(value))).toBe(canonical(value));
        expect(canonical(toJson(reversed(value)))).toBe(canonical(value));
      }),
    );
  });

  test("different values have different texts", () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const equal = canonical(a) === canonical(b);
        expect(equal).toBe(JSON.stringify(toJson(a)) === JSON.stringify(toJson(b)));
      }),
    );
  });

  test("is well-formed text, so that its UTF-8 bytes say the same", () => {
    fc.assert(fc.property(json, (value) => expect(canonical(value).isWellFormed()).toBe(true)));
  });
});
