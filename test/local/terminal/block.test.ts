import { describe, expect, test } from "@jest/globals";
import { createBlock, lastLines } from "../../../local/terminal/block.ts";

test("a block wipes what it drew before, and nothing else", () => {
  const written: string[] = [];
  const block = createBlock({ write: (text) => void written.push(text), size: () => null, colour: false });
  block.draw(["one", "two"]);
  block.draw(["three"]);
  block.erase();
  block.erase();
  expect(written.join("")).toBe("one\ntwo\n\u001b[2F\u001b[Jthree\n\u001b[1F\u001b[J");
});

describe("the last lines of a text", () => {
  test("break between words, and within one that is too long", () => {
    expect(lastLines("the quick brown fox jumps", 10, 9)).toEqual(["the quick", "brown fox", "jumps"]);
    expect(lastLines("abcdefghijkl", 5, 9)).toEqual(["abcde", "fghij", "kl"]);
  });
  test("are as wide as they look", () => {
    expect(lastLines("世界世界世", 4, 9)).toEqual(["世界", "世界", "世"]);
    expect(lastLines("e\u0301e\u0301e\u0301", 3, 9)).toEqual(["e\u0301e\u0301e\u0301"]);
  });
  test("are as many as there is room for, and harmless", () => {
    expect(lastLines("a\nb\nc\n\u001b[2Jd", 20, 2)).toEqual(["c", "\u{FFFD}[2Jd"]);
    expect(lastLines("x".repeat(100_000), 80, 3)).toHaveLength(3);
  });
});
