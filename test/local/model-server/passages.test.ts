import { describe, expect, test } from "@jest/globals";
import { readPassages } from "../../../local/model-server/passages.ts";

describe("reading passages out of tool results", () => {
  test("JSON hits, wrapped or not, and numbered lines are understood alike", () => {
    const hit = { file: "a.txt", line: 12, text: "One line" };
    const read = "a.txt, lines 12-13 of 400\n12: One line\n13:   indented [1]";
    expect(readPassages([JSON.stringify([hit])]).passages).toEqual([hit]);
    expect(readPassages([JSON.stringify({ hits: [hit], more: false })]).passages).toEqual([hit]);
    expect(readPassages([read]).passages).toEqual([hit, { file: "a.txt", line: 13, text: "  indented [1]" }]);
    expect(readPassages([JSON.stringify(read)]).passages).toHaveLength(2);
  });

  test("the longer of two versions of a line wins: a search may have shortened it", () => {
    const short = JSON.stringify([{ file: "a.txt", line: 1, text: "One…" }]);
    expect(readPassages([short, "a.txt, lines 1-1 of 9\n1: One line"]).passages).toEqual([
      { file: "a.txt", line: 1, text: "One line" },
    ]);
  });

  test("a listing names files, and prose holds none", () => {
    const listing = JSON.stringify([{ id: "f1", name: "a.txt", bytes: 3 }]);
    expect(readPassages([listing]).files).toEqual([{ id: "f1", name: "a.txt" }]);
    expect(readPassages(["Nothing here. 12: no header came before"])).toEqual({ passages: [], files: [] });
  });
});
