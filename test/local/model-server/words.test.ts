import { describe, expect, test } from "@jest/globals";
import { keyPhrase, keyTerms, stem } from "../../../local/model-server/words.ts";

describe("words", () => {
  test.each([
    ["commit", "commits", "committed", "committing"],
    ["lock", "locks", "locked", "locking"],
    ["survive", "survives", "survived", "surviving"],
    ["query", "queries"],
    ["crash", "crashes", "crashed"],
  ])("inflections of %s meet in one stem", (...words) => {
    expect(new Set(words.map(stem)).size).toBe(1);
  });

  test("identifiers and short words stay as they are", () => {
    expect(["wal_levels", "speed", "need", "WAL", "status"].map(stem)).toEqual([
      "wal_levels",
      "speed",
      "need",
      "wal",
      "status",
    ]);
  });

  test("names weigh more than plain words, and stop words nothing", () => {
    const weights = keyTerms("What does SKIP do to the rows of wal_level?").map(({ surface, weight }) => [
      surface,
      weight,
    ]);
    expect(weights).toEqual([
      ["SKIP", 2],
      ["rows", 1],
      ["wal_level", 2],
    ]);
  });

  test("a key phrase leaves the asking away and is cut at a word", () => {
    expect(keyPhrase("Please explain the index-only scans.")).toBe("index-only scans");
    expect(keyPhrase(`Explain ${"abcdefghi ".repeat(20)}`)).toMatch(/^(?:abcdefghi )+abcdefghi$/);
  });
});
