import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../shared/core/json.ts";
import { attached, type Content, call, type Pages } from "./attached.ts";

describe("read_file of a PDF", () => {
  const long = Array.from({ length: 300 }, (_, i) => `line ${i + 1}`).join("\n");
  const ctx = attached([
    ["r.pdf", { pages: ["Title\nby me", "", long, "End"] }],
    ["w.pdf", { pages: Array.from({ length: 60 }, () => `${"z".repeat(3_000)}\n`.repeat(8)) }],
    ["a.txt", "text"],
  ]);
  const read = async (args: { readonly [key: string]: Json }) => String(await call("read_file", args, ctx));

  test("by page, the first by default, each under its header", async () => {
    expect(await read({ file: "r.pdf" })).toBe("r.pdf, page 1 of 4\n1: Title\n2: by me");
    expect(await read({ file: "r.pdf", page: 4, pages: 9 })).toBe("r.pdf, page 4 of 4\n1: End");
    expect(await read({ file: "r.pdf", pages: 2 })).toBe(
      "r.pdf, page 1 of 4\n1: Title\n2: by me\nr.pdf, page 2 of 4\n[no text is on this page: it may be an image, or blank]",
    );
  });

  test("a page that is longer than the range says how it goes on", async () => {
    const lines = (await read({ file: "r.pdf", page: 3 })).split("\n");
    expect(lines[0]).toBe("r.pdf, page 3 of 4, lines 1-200 of 300");
    expect(lines.at(-1)).toBe("[the page goes on: page 3, fromLine 201]");
    expect(await read({ file: "r.pdf", page: 3, fromLine: 299 })).toBe(
      "r.pdf, page 3 of 4, lines 299-300 of 300\n299: line 299\n300: line 300",
    );
  });

  test("the first line asked for counts for the first page alone", async () => {
    expect(await read({ file: "r.pdf", page: 3, pages: 2, fromLine: 300 })).toBe(
      "r.pdf, page 3 of 4, lines 300-300 of 300\n300: line 300\nr.pdf, page 4 of 4\n1: End",
    );
  });

  test("pages never fill the model's context: the result stops, and says where to go on", async () => {
    const text = await read({ file: "w.pdf", pages: 50 });
    expect(text.length).toBeLessThan(70_000);
    expect(text.match(/^w.pdf.*|^\[.*/gm)).toEqual([
      "w.pdf, page 1 of 60",
      "w.pdf, page 2 of 60",
      "w.pdf, page 3 of 60, lines 1-5 of 8",
      "[the page goes on: page 3, fromLine 6]",
    ]);
    const even = attached([["e.pdf", { pages: Array.from({ length: 60 }, () => `${"z".repeat(3_900)}\n`.repeat(4)) }]]);
    expect(String(await call("read_file", { file: "e.pdf", pages: 50 }, even))).toMatch(
      /\n\[the result is full: read on with page 5\]$/,
    );
  });

  test("says what to do about a page that isn't there, or a file without pages", async () => {
    await expect(read({ file: "r.pdf", page: 5 })).rejects.toThrow("r.pdf has 4 pages: page must be at most 4");
    await expect(read({ file: "r.pdf", fromLine: 3 })).rejects.toThrow(
      "r.pdf, page 1 of 4 has 2 lines: fromLine must be at most 2",
    );
    await expect(read({ file: "a.txt", page: 1 })).rejects.toThrow(
      "a.txt has no pages: leave out page and pages, and use fromLine",
    );
    await expect(read({ file: "r.pdf", pages: 51 })).rejects.toThrow("pages: must be at most 50");
  });
});

describe("search_files over PDFs", () => {
  const search = async (
    query: string,
    files: readonly (readonly [string, Content | Pages])[],
  ): Promise<{ file: string; page?: number; line: number; note?: string }[]> =>
    (await call("search_files", { query }, attached(files))) as never;

  test("a PDF's lines are found with their page, and are no neighbours of the next page's", async () => {
    const pdf: [string, Pages] = ["m.pdf", { pages: ["A heading", "x\nThe key word\ny", "A word"] }];
    expect(await search("key", [["a.txt", "a key"], pdf])).toEqual([
      { file: "a.txt", line: 1, text: "a key" },
      { file: "m.pdf", page: 2, line: 2, text: "The key word" },
    ]);
    const long: [string, Pages] = ["n.pdf", { pages: ["", `${"hay ".repeat(1_000)}needle`] }];
    expect((await search("needle", [long]))[0]?.note).toContain("read_file with page 2, fromLine 1");
    const alone = await search("word", [["p.pdf", { pages: ["one word", "one word"] }]]);
    expect(alone.map(({ line, ...hit }) => [hit.page, line])).toEqual([
      [1, 1],
      [2, 1],
    ]);
  });
});
