// The form that goes into jsonb columns and comes back exactly (c1, c2, c17). That Postgres takes it is the store's test.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { BLOB_KEY, canonical, fromStored, type Json, toJson, toStored } from "../../shared/core/json.ts";
import { json, reversed } from "./arbitraries.ts";

interface Vector {
  readonly name: string;
  readonly value: Json;
  readonly stored: Json;
}
const vectors: { cases: Vector[] } = JSON.parse(
  readFileSync(new URL("../vectors/stored.json", import.meta.url), "utf8"),
);

/** Every text of a value, keys too. */
function* textsOf(value: Json): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsOf(item);
  else if (value !== null && typeof value === "object")
    for (const [name, item] of Object.entries(value)) {
      yield name;
      yield* textsOf(item);
    }
}

describe("toStored and fromStored", () => {
  test.each(vectors.cases)("golden: $name", ({ value, stored }) => {
    expect(toStored(value)).toStrictEqual(stored);
    expect(fromStored(stored)).toStrictEqual(value);
  });

  test("c1, c2: every value comes back exactly, keys and their order too", () => {
    fc.assert(
      fc.property(json.map(toJson), (value) => {
        expect(JSON.stringify(fromStored(toStored(value)))).toBe(JSON.stringify(value));
        expect(fromStored(toStored(value))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  test("the order of keys that the database gives back doesn't matter", () => {
    fc.assert(
      fc.property(json.map(toJson), (value) => {
        const read = fromStored(reversed(toStored(value)));
        expect(JSON.stringify(read)).toBe(JSON.stringify(value));
        expect(canonical(read)).toBe(canonical(value));
      }),
    );
  });

  test("nothing that jsonb refuses is stored, and nothing collides", () => {
    fc.assert(
      fc.property(json, (value) => {
        for (const text of textsOf(toStored(value))) {
          expect(text).not.toContain("\u0000");
          expect(text.isWellFormed()).toBe(true);
          expect(text).not.toBe(BLOB_KEY);
        }
        expect([...textsOf(toStored(value))].length).toBe([...textsOf(value)].length);
      }),
      { numRuns: 500 },
    );
  });

  test("each surrogate that stands alone is escaped, in text and as a key; each pair is left as it is", () => {
    const all = Array.from({ length: 0x800 }, (_, i) => String.fromCharCode(0xd800 + i));
    for (const unit of all) {
      const value = { [unit]: `a${unit}b` };
      expect([...textsOf(toStored(value))].every((text) => text.isWellFormed())).toBe(true);
      expect(fromStored(toStored(value))).toEqual(value);
    }
    for (const high of all.slice(0, 0x400)) {
      const pairs = `${high}\uDC00${high}\uDFFF`;
      expect(toStored(pairs)).toBe(pairs);
    }
  });

  test("a value without special characters isn't copied", () => {
    const value = { a: [1, "x", { b: null }] };
    expect(toStored(value)).toBe(value);
  });
});
