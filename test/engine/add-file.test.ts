import { describe, expect, test } from "@jest/globals";
import { addFile } from "../../shared/engine/add-file.ts";
import type { NewFile } from "../../shared/ports/files.ts";

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0];

function door(pdf: "read" | "broken" = "read") {
  const kept: NewFile[] = [];
  const deps = {
    files: {
      add: async (file: NewFile) => {
        kept.push(file);
        const { name, mediaType, content } = file;
        return { id: "f", name, mediaType, bytes: content.byteLength, pages: file.pageTexts?.length ?? null };
      },
    },
    readPdf: async () =>
      pdf === "read"
        ? ({ ok: true, pageTexts: ["one", "two"] } as const)
        : ({ ok: false, reason: "is broken" } as const),
  };
  const add = (name: string, mediaType: string, content: string | number[]) =>
    addFile(deps, { name, mediaType, content: Buffer.from(content as string) });
  return { add, kept };
}

describe("files at the door", () => {
  test.each<[string, string, string, string | number[], string]>([
    ["text keeps the type it is said to have", "a.md", "text/markdown", "# A", "text/markdown"],
    ["text of no type", "a", "application/octet-stream", "a", "text/plain"],
    ["Latin-1", "l.csv", "text/csv", [0x61, 0x62, 0x63, 0xe4], "text/csv"],
    [
      "an image is admitted, whatever it is called",
      "x.txt",
      "text/plain",
      [...PNG, ...Buffer.from("IEND")],
      "image/png",
    ],
    ["a JPEG", "x.jpg", "image/jpeg", [0xff, 0xd8, 0xff, 0xe0, 1, 0xff, 0xd9], "image/jpeg"],
    ["a WebP", "x.webp", "image/webp", "RIFF\u0006\u0000\u0000\u0000WEBPVP", "image/webp"],
    ["a PDF, whatever it is called", "report", "text/plain", "%PDF-1.7", "application/pdf"],
  ])("%s", async (_what, name, said, content, mediaType) => {
    expect(await door().add(name, said, content)).toMatchObject({ name, mediaType });
  });

  test("a PDF's pages are read once, here", async () => {
    const { add, kept } = door();
    expect(await add("r.pdf", "application/pdf", "%PDF-1.7")).toMatchObject({ pages: 2 });
    expect(kept[0]?.pageTexts).toEqual(["one", "two"]);
  });

  test.each<[string, string, string, string | number[], string]>([
    ["an empty file", "e.txt", "text/plain", "", 'The file "e.txt" can\'t be used: it is empty.'],
    ["a broken PDF", "b.pdf", "application/pdf", "%PDF-1.7", "it is a PDF that is broken."],
    ["a PDF by name alone", "B.PDF", "text/plain", "Hello", "it is called a PDF, but isn't one."],
    ["a PDF by type alone", "b", "application/pdf", "Hello", "it is called a PDF, but isn't one."],
    ["an office document", "a.docx", "text/plain", "PK\u0003\u0004", "it is a ZIP archive"],
    ["a PNG that is cut off", "a.png", "image/png", PNG, "it is a PNG image that is cut off."],
    [
      "a JPEG that is cut off",
      "a.jpg",
      "image/jpeg",
      [0xff, 0xd8, 0xff, 0xe0, 1],
      "it is a JPEG image that is cut off.",
    ],
    [
      "a WebP that is cut off",
      "a.webp",
      "image/webp",
      "RIFF\u0009\u0000\u0000\u0000WEBPVP",
      "it is a WebP image that is cut off.",
    ],
    ["a GIF that is cut off", "a.gif", "image/gif", "GIF89a\u0001", "it is a GIF image that is cut off."],
    ["binary data", "a.bin", "text/plain", [0, 1, 2, 3], "it is binary data; text, PDFs and images (PNG, JPEG"],
  ])("c20: %s is refused with the reason, and nothing is stored", async (_what, name, mediaType, content, say) => {
    const { add, kept } = door("broken");
    await expect(add(name, mediaType, content)).rejects.toMatchObject({
      code: "file.unreadable",
      message: expect.stringContaining(say),
    });
    expect(kept).toEqual([]);
  });
});
