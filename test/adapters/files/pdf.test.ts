// The reader over PDFs that are made here.
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import { createPdfReader, type PdfBounds } from "../../../shared/adapters/files/pdf.ts";
import { encryptedPdf, makePdf } from "../../support/pdf.ts";

const BOUNDS: PdfBounds = { pages: 50, chars: 10_000, ms: 20_000, heapMb: 256, memoryMb: 500 };
const read = (content: Uint8Array, bounds: Partial<PdfBounds> = {}) =>
  createPdfReader({ ...BOUNDS, ...bounds })(content);

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");

/** One page whose content unfolds to so many blanks. */
function bomb(mb: number): Uint8Array {
  const packed = deflateSync(Buffer.alloc(mb * 2 ** 20, " "), { level: 1 });
  const head = makePdf([["x"]]);
  const text = Buffer.from(head).toString("latin1");
  const object = `<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n${packed.toString("latin1")}\nendstream`;
  // The table of places no longer fits, which readers mend.
  return bytes(text.replace(/<< \/Length \d+ >>\nstream\n.*?\nendstream/s, () => object));
}

describe("the text of a PDF", () => {
  test("comes by page, with its lines; a page without text is one", async () => {
    const pdf = makePdf([["Hello (world)", "second \\ line"], [], ["Page three"]]);
    expect(await read(pdf)).toEqual({ ok: true, pageTexts: ["Hello (world)\nsecond \\ line", "", "Page three"] });
    expect((await createPdfReader()(pdf)).ok).toBe(true);
  });

  test("one that can't be handed to a reader keeps no other from being read", async () => {
    const reader = createPdfReader();
    await expect(reader((() => {}) as never)).rejects.toThrow("could not be cloned");
    expect(await reader(makePdf([["a"]]))).toEqual({ ok: true, pageTexts: ["a"] });
  });

  test("reading leaves the bytes as they are", async () => {
    const pdf = makePdf([["a"]]);
    const copy = Uint8Array.from(pdf);
    await read(pdf);
    expect(pdf).toEqual(copy);
  });

  test.each<[string, () => Uint8Array, string]>([
    ["an encrypted one", encryptedPdf, "is encrypted: it can be opened with its password only"],
    ["garbage", () => bytes("%PDF-1.7\ngarbage"), "is broken"],
    ["half of one", () => makePdf([["a"]]).subarray(0, 200), "is broken"],
  ])("c20: %s is refused with the reason", async (_what, make, reason) => {
    expect(await read(make())).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });

  test.each<[string, Partial<PdfBounds>, string]>([
    ["pages", { pages: 2 }, "has 3 pages; 2 are the most"],
    ["characters", { chars: 10 }, "has more than 10 characters of text"],
    ["time", { ms: 1 }, "takes more than 0.001 s to read"],
    ["heap", { heapMb: 4 }, "takes more than 4 MB of memory to read"],
  ])("I11: %s are bounded", async (_what, bounds, reason) => {
    const pdf = makePdf([["some words"], ["some words"], ["some words"]]);
    expect(await read(pdf, bounds)).toEqual({ ok: false, reason });
  });

  test("I11: what unfolds into gigabytes is stopped, and the next one is read", async () => {
    const reader = createPdfReader({ ...BOUNDS, memoryMb: 150 });
    const [huge, next] = await Promise.all([reader(bomb(600)), reader(makePdf([["after"]]))]);
    expect(huge).toEqual({ ok: false, reason: "takes more than 150 MB of memory to read" });
    expect(next).toEqual({ ok: true, pageTexts: ["after"] });
  });
});
