import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { BUILTINS } from "../../shared/authoring/builtins.ts";
import { digestOf } from "../../shared/core/digest.ts";
import { attached, type Content, call } from "./attached.ts";

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10);

describe("list_files", () => {
  test("names every file with its lines; what isn't text has none", async () => {
    const ctx = attached([
      ["a.txt", "one\ntwo\n"],
      ["b.png", PNG],
      ["c.txt", ""],
      ["d.pdf", { pages: ["one", "two"] }],
    ]);
    expect(await call("list_files", {}, ctx)).toEqual([
      { id: "f0", name: "a.txt", mediaType: "text/plain", bytes: 8, pages: null, lines: 2 },
      { id: "f1", name: "b.png", mediaType: "text/plain", bytes: 6, pages: null, lines: null },
      { id: "f2", name: "c.txt", mediaType: "text/plain", bytes: 0, pages: null, lines: 0 },
      { id: "f3", name: "d.pdf", mediaType: "text/plain", bytes: 4, pages: 2, lines: null },
    ]);
    expect(await call("list_files", {}, attached([]))).toEqual([]);
  });
});

describe("read_file", () => {
  const ctx = attached([
    ["a.txt", Array.from({ length: 400 }, (_, i) => `text of line ${i + 1}`).join("\n")],
    ["b.png", PNG],
    ["empty.txt", ""],
  ]);

  test("shows the lines asked for under a header that names them", async () => {
    expect(await call("read_file", { file: "a.txt", fromLine: 10, lines: 3 }, ctx)).toBe(
      "a.txt, lines 10-12 of 400\n10: text of line 10\n11: text of line 11\n12: text of line 12",
    );
    expect(await call("read_file", { file: "f0", fromLine: 399, lines: 9 }, ctx)).toBe(
      "a.txt, lines 399-400 of 400\n399: text of line 399\n400: text of line 400",
    );
    expect(String(await call("read_file", { file: "a.txt" }, ctx)).split("\n")).toHaveLength(201);
  });

  test("says what to do about a file or line that isn't there", async () => {
    await expect(call("read_file", { file: "x.txt" }, ctx)).rejects.toThrow(
      'there is no file "x.txt"; the files are: a.txt, b.png, empty.txt',
    );
    await expect(call("read_file", { file: "x.txt" }, attached([]))).rejects.toThrow(
      "no files are attached to this run",
    );
    await expect(call("read_file", { file: "a.txt", fromLine: 401 }, ctx)).rejects.toThrow(
      "a.txt has 400 lines: fromLine must be at most 400",
    );
    await expect(call("read_file", { file: "b.png" }, ctx)).rejects.toThrow(
      "b.png can't be read as text: it is a PNG image, and images can't be read in this version",
    );
    await expect(call("read_file", { file: "a.txt", lines: 2001 }, ctx)).rejects.toThrow("lines: must be at most 2000");
    expect(await call("read_file", { file: "empty.txt" }, ctx)).toBe("empty.txt is empty");
  });

  test("two files of one name are told apart by id", async () => {
    const twins = attached([
      ["a.txt", "first"],
      ["a.txt", "second"],
      ["b.txt", "third"],
    ]);
    await expect(call("read_file", { file: "a.txt" }, twins)).rejects.toThrow(
      'several files are named "a.txt": use an id: f0, f1',
    );
    expect(await call("read_file", { file: "f1" }, twins)).toBe("a.txt, lines 1-1 of 1\n1: second");
    expect(await call("search_files", { query: "second third" }, twins)).toMatchObject([
      { file: "b.txt" },
      { file: "f1" },
    ]);
  });

  test("a line that is too long is cut at a code point, with a note that leads through all of it", async () => {
    const long = `${"x".repeat(3_999)}😀${"y".repeat(5_000)}`;
    const one = attached([["l.txt", `${long}\nnext`]]);
    let read = "";
    let fromChar = 1;
    for (;;) {
      const page: string = String(await call("read_file", { file: "l.txt", lines: 1, fromChar }, one));
      expect(page.isWellFormed()).toBe(true);
      read += (/^1: (…?)([^…]*)/m.exec(page)?.[2] ?? "").trimEnd();
      const note = /^\[line 1 is cut after character (\d+) of 9001: read on with fromLine 1, fromChar (\d+)\]$/m.exec(
        page,
      );
      if (note === null) break;
      expect(Number(note[2])).toBe(Number(note[1]) + 1);
      fromChar = Number(note[2]);
    }
    expect(read).toBe(long);
  });

  test("a result never fills the model's context: it stops, and says where to go on", async () => {
    const wide = attached([["w.txt", Array.from({ length: 100 }, () => "z".repeat(3_000)).join("\n")]]);
    const page = String(await call("read_file", { file: "w.txt" }, wide));
    expect(page.length).toBeLessThan(70_000);
    const last = Number(/lines 1-(\d+) of 100/.exec(page)?.[1]);
    expect(page.endsWith(`\n[the result is full: read on with fromLine ${last + 1}]`)).toBe(true);
    expect(page).toContain(`\n${last}: z`);
  });
});

describe("search_files", () => {
  const search = async (
    query: string,
    files: readonly (readonly [string, Content])[],
    more: object = {},
  ): Promise<{ file: string; line: number; text: string; note?: string }[]> =>
    (await call("search_files", { query, ...more }, attached(files))) as never;

  const files: [string, string][] = [
    ["b.txt", "Locks\nThe cat sat on the mat.\nA transaction is committed when its record is flushed to disk.\n"],
    ["a.txt", "With SKIP LOCKED, rows that are locked are skipped.\nA skip of rope.\nThe door was locked.\n"],
  ];

  test("best lines first, with file and line, whatever the inflection or case", async () => {
    const hits = await search("committing transactions", files);
    expect(hits).toEqual([
      { file: "b.txt", line: 3, text: "A transaction is committed when its record is flushed to disk." },
    ]);
    const order = (await search("what is skip locked for", files)).map(({ file, line }) => `${file}:${line}`);
    expect(order[0]).toBe("a.txt:1");
    expect(order.sort()).toEqual(["a.txt:1", "a.txt:2", "a.txt:3", "b.txt:1"]);
  });

  test("equal lines come in the order of file names and lines", async () => {
    const same: [string, string][] = [
      ["z.txt", "same words\nother\nsame words"],
      ["a.txt", "x\nother\nsame words"],
    ];
    expect((await search("same", same)).map(({ file, line }) => `${file}:${line}`)).toEqual([
      "a.txt:3",
      "z.txt:1",
      "z.txt:3",
    ]);
    expect(await search("same", same)).toEqual(await search("same", [...same].reverse()));
  });

  test("one file, by name or id; a limit", async () => {
    expect(await search("locked", files, { file: "b.txt" })).toEqual([{ file: "b.txt", line: 1, text: "Locks" }]);
    expect(await search("locked", files, { file: "f1", limit: 1 })).toHaveLength(1);
    await expect(search("locked", files, { file: "c.txt" })).rejects.toThrow(
      'there is no file "c.txt"; the files are: b.txt, a.txt',
    );
    const many: [string, string][] = [["m.txt", "word\n".repeat(99)]];
    expect(await search("word", many)).toHaveLength(8);
    await expect(search("word", many, { limit: 51 })).rejects.toThrow("limit: must be at most 50");
  });

  test("nothing found is an empty list; no word at all is an error; stop words alone are searched for", async () => {
    expect(await search("zebra", files)).toEqual([]);
    await expect(search("?!", files)).rejects.toThrow("the query holds no word to search for");
    expect((await search("the", files)).map(({ line }) => line)).toContain(2);
  });

  test("a file that isn't text doesn't hide the others; asked for by name it says why", async () => {
    expect(await search("locked", [["p.png", PNG], ...files])).toHaveLength(3);
    await expect(search("locked", [["p.png", PNG]], { file: "p.png" })).rejects.toThrow("it is a PNG image");
  });

  test("a long line is shown around its match, well-formed, and says where it is whole", async () => {
    const [hit] = await search("needle", [["l.txt", `${"😀 hay ".repeat(1_000)}needle ${"😀 hay ".repeat(1_000)}`]]);
    expect(hit?.text).toMatch(/^…[^…]*needle[^…]*…$/);
    expect(hit?.line).toBe(1);
    expect(hit?.text.length).toBeLessThan(1_300);
    expect(hit?.text.isWellFormed()).toBe(true);
    expect(hit?.note).toContain("read_file with fromLine 1");
  });

  test("texts without spaces between words are found by their characters", async () => {
    expect(await search("東京", [["j.txt", "私は大阪に住む\n私は東京に住む"]], { limit: 1 })).toMatchObject([
      { line: 2 },
    ]);
  });

  test("answers real questions from real chapters", async () => {
    const folder = join(import.meta.dirname, "../../agents/research_crew/corpus");
    const corpus = readdirSync(folder)
      .filter((name) => name.endsWith(".txt"))
      .map((name): [string, Uint8Array] => [name, readFileSync(join(folder, name))]);
    const top = async (query: string) => (await search(query, corpus, { limit: 5 })).map(({ text }) => text).join("\n");
    expect(await top("SKIP LOCKED multiple consumers queue-like table")).toContain(
      "avoid lock contention with multiple consumers accessing a queue-like table",
    );
    expect(await top("log changes before data files crash recovery redo")).toMatch(
      /flushed to permanent storage|roll-forward recovery/,
    );
    expect(await top("each transaction sees snapshot of data repeatable read")).toMatch(/snapshot/);
  });

  test("stops when its call is aborted", async () => {
    const ctx = { ...attached(files), signal: AbortSignal.abort(new Error("stop")) };
    await expect(call("search_files", { query: "locked" }, ctx)).rejects.toThrow("stop");
  });
});

test("I6: names, descriptions and schemas are a contract: a change here cuts the runs that use them", () => {
  const seen = [...BUILTINS].map(([name, { description, inputSchema }]) => [
    name,
    digestOf({ name, description, inputSchema }),
  ]);
  expect(Object.fromEntries(seen)).toEqual({
    list_files: "d1:wLd8Dyg9Vg59ffT8W1ahZ23kedFSdBxbBRi6-dd_weA",
    read_file: "d1:257FQJMEU5oA96YKQcdlM0_QvxVqy3sTK4eKXDH7QmU",
    search_files: "d1:ghzoyPut-UYNMQZVBZc54Ct2Ohd6FvEqH37cVJMv8NI",
  });
});

test("they only read", () => {
  for (const { effects, idempotency } of BUILTINS.values()) expect([effects, idempotency]).toEqual(["none", "none"]);
});
