import { describe, expect, test } from "@jest/globals";
import { TERM_MAX_CHARS, TERMS_INPUT_CHARS, TERMS_MAX } from "../../shared/core/limits.ts";
import { termsOf, termsQuery, wordsOf } from "../../shared/core/terms.ts";

describe("words", () => {
  test.each([
    ["Refund order A-1002, 120.50 EUR!", ["refund", "order", "a", "1002", "120", "50", "eur"]],
    ["foo@bar.example/path_x", ["foo", "bar", "example", "path", "x"]],
    ["ＦＵＬＬ ﬁne Straße", ["full", "fine", "straße"]],
    ["東京tower ไทย", ["東", "京", "tower", "ไ", "ท", "ย"]],
    ["हिन्दी", ["हिन्दी"]],
    ["<b>\u0000\ud800</b>", ["b"]],
    ["?!", []],
  ])("of %j", (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  test("are bounded in number, length and in what they are taken from", () => {
    const many = Array.from({ length: 2 * TERMS_MAX }, (_, i) => i).join(" ");
    expect(wordsOf(many)).toHaveLength(TERMS_MAX);
    expect(wordsOf("x".repeat(1_000))).toEqual(["x".repeat(TERM_MAX_CHARS)]);
    expect(termsOf(["a ".repeat(TERMS_INPUT_CHARS), "late"], {})).toEqual(["a"]);
    expect(termsOf(["first", { key: [1.5, "second", null, true] }], {})).toEqual(["first", "1", "5", "second"]);
  });
});

describe("a query", () => {
  test("asks for every word by its beginning and every attribute as it is; nothing is null", () => {
    expect(termsQuery("A-10", { k: "v" })).toBe("'a':* & '10':* & '@k=v'");
    expect(termsQuery("", {})).toBeNull();
  });

  test("nothing that people type gets out of its quotes", () => {
    expect(termsQuery("", { k: "'a' | \\'b" })).toBe("'@k=''a'' | \\\\''b'");
  });
});
