import { describe, expect, test } from "@jest/globals";
import { decodeText, linesOf, sliceText, textOf } from "../../shared/core/text-files.ts";

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

describe("attached files as text", () => {
  test.each<[string, Uint8Array, string]>([
    ["UTF-8", bytes("Grüße 😀\n"), "Grüße 😀\n"],
    ["UTF-8 with a byte order mark", bytes([0xef, 0xbb, 0xbf], "a"), "a"],
    ["UTF-16, little end first", bytes([0xff, 0xfe], [...Buffer.from("ä😀", "utf16le")]), "ä😀"],
    ["UTF-16, big end first", bytes([0xfe, 0xff, 0x00, 0xe4, 0xd8, 0x3d, 0xde, 0x00]), "ä😀"],
    ["nothing", bytes(), ""],
    ["c1: a NUL among text", bytes(`${"x".repeat(500)}\u0000y`), `${"x".repeat(500)}\u0000y`],
  ])("%s is read", (_name, content, text) => {
    expect(decodeText(content)).toEqual({ ok: true, text });
  });

  test.each<[string, Uint8Array, string]>([
    ["a PDF", bytes("%PDF-1.7\n"), "it is a PDF"],
    ["a PNG", bytes([0x89], "PNG\r\n", [0x1a]), "it is a PNG image"],
    ["an office document", bytes("PK", [3, 4], "word/"), "it is a ZIP archive (or an office document, which is one)"],
    ["Latin-1", bytes("Gr", [0xfc], "n"), "it is not valid UTF-8"],
    ["half a UTF-16 text", bytes([0xff, 0xfe, 0x3d, 0xd8]), "it is not valid UTF-16LE"],
    ["UTF-16 that doesn't say so", Buffer.from("hello world", "utf16le"), "it is binary data"],
  ])("%s is refused, and says why", (_name, content, reason) => {
    expect(decodeText(content)).toEqual({ ok: false, reason });
    expect(() => textOf("x.bin", content)).toThrow(`x.bin can't be read as text: ${reason}`);
  });

  test("lines are counted as grep counts them", () => {
    expect(linesOf("")).toEqual([]);
    expect(linesOf("\n")).toEqual([""]);
    expect(linesOf("a\r\nb\n\nc")).toEqual(["a", "b", "", "c"]);
    expect(linesOf("a\rb\n")).toEqual(["a\rb"]);
  });

  test("c2: a slice never goes through an emoji", () => {
    for (let from = 0; from <= 6; from++) {
      for (let max = 0; max <= 6; max++) expect(sliceText("a😀b😀", from, max).isWellFormed()).toBe(true);
    }
    expect(sliceText("a😀b", 0, 2)).toBe("a");
    expect(sliceText("a😀b", 0, 3)).toBe("a😀");
    expect(sliceText("a😀b", 2, 9)).toBe("b");
  });
});
