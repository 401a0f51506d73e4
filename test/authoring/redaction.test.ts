import { describe, expect, test } from "@jest/globals";
import { defineRedaction, isRedaction, redactionOf, redactTexts } from "../../shared/authoring/redaction.ts";

describe("redactTexts", () => {
  test("goes through all texts, leaves names and everything else", () => {
    const shout = (text: string): string => text.toUpperCase();
    expect(redactTexts({ a: ["x", { b: "y", n: 1 }], z: null, t: true }, shout)).toEqual({
      a: ["X", { b: "Y", n: 1 }],
      z: null,
      t: true,
    });
    expect(redactTexts("x", shout)).toBe("X");
  });
});

describe("defineRedaction", () => {
  test("takes a function, and nothing else", () => {
    const made = defineRedaction((value) => value);
    expect([isRedaction(made), isRedaction({}), isRedaction(null)]).toEqual([true, false, false]);
    expect(redactionOf(made)("x", { kind: "input", name: "main" })).toBe("x");
    expect(() => defineRedaction(undefined as never)).toThrow("takes a function");
  });
});
