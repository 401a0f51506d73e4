import { describe, expect, test } from "@jest/globals";
import { checkQuotes } from "../../../local/demo/quotes.ts";

const FILES = new Map([["a.txt", ["A heading", "Locks are held until the end. They are then released."]]]);
const readLines = (file: string) => FILES.get(file);

describe("checking an answer's quotes", () => {
  test("a quote that is an exact part of the named line is right", () => {
    const check = checkQuotes('So: "Locks are held until the end." (a.txt:2)\n\nSources:\n- a.txt', readLines);
    expect(check).toEqual({
      quotes: [{ text: "Locks are held until the end.", file: "a.txt", line: 2, ok: true }],
      ok: true,
    });
  });

  test.each([
    ["a changed word", '"Locks are kept until the end." (a.txt:2)', "a.txt does not say this"],
    ["a changed case", '"locks are held until the end." (a.txt:2)', "a.txt does not say this"],
    ["another line", '"They are then released." (a.txt:1)', "a.txt says this in line 2"],
    ["a line beyond the file", '"They are then released." (a.txt:9)', "a.txt has 2 lines"],
    ["line 0", '"A heading" (a.txt:0)', "a.txt has 2 lines"],
    ["a file that is not there", '"A heading" (b.txt:1)', "there is no file b.txt"],
  ])("%s is wrong, and says why", (_name, answer, why) => {
    const check = checkQuotes(answer, readLines);
    expect(check.ok).toBe(false);
    expect(check.quotes.map((quote) => quote.why)).toEqual([why]);
  });

  test("one wrong quote among right ones makes the answer wrong", () => {
    const check = checkQuotes('"A heading" (a.txt:1) and "No such words" (a.txt:1)', readLines);
    expect(check.quotes.map((quote) => quote.ok)).toEqual([true, false]);
    expect(check.ok).toBe(false);
  });

  test("an answer without a quote has proved nothing", () => {
    expect(checkQuotes('Just "words", and a place (a.txt:1).', readLines)).toEqual({ quotes: [], ok: false });
  });
});
