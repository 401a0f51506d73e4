import { describe, expect, test } from "@jest/globals";
import { decodeText, joinPages, linesOf, pagesOf, sliceText, textOf } from "../../shared/core/text-files.ts";

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

describe("attached files as text", () => {
  test.each<[string, Uint8Array, string]>([
    ["UTF-8", bytes("Grüße 😀\n"), "Grüße 😀\n"],
    ["UTF-8 with a byte order mark", bytes([0xef, 0xbb, 0xbf], "a"), "a"],
    ["UTF-16, little end first", bytes([0xff, 0xfe], [...Buffer.from("ä😀", "utf16le")]), "ä😀"],
    ["UTF-16, big end first", bytes([0xfe, 0xff, 0x00, 0xe4, 0xd8, 0x3d, 0xde, 0x00]), "ä😀"],
    ["Latin-1", bytes("Gr", [0xfc, 0xdf, 0x65], " aus M", [0xfc], "nchen\r\n"), "Grüße aus München\r\n"],
    ["a word of Latin-1", bytes("Gr", [0xfc, 0xdf], "e"), "Grüße"],
    ["Windows-1252", bytes([0x93], "That is 5 ", [0x80, 0x94, 0x85], " he said"), "“That is 5 €”… he said"],
    ["a text that speaks of PDFs", bytes("The header\nis %PDF-1.7 there"), "The header\nis %PDF-1.7 there"],
    ["nothing", bytes(), ""],
    ["c1: a NUL among text", bytes(`${"x".repeat(500)}\u0000y`), `${"x".repeat(500)}\u0000y`],
  ])("%s is read", (_name, content, text) => {
    expect(decodeText(content)).toEqual({ ok: true, text });
  });

  test.each<[string, Uint8Array, string]>([
    ["a PDF", bytes("%PDF-1.7\n"), "it is a PDF"],
    ["a PDF after the headers of a mail", bytes("X-From: a\n%PDF-1.7\n"), "it is a PDF"],
    ["a PNG", bytes([0x89], "PNG\r\n", [0x1a]), "it is a PNG image, and images can't be read in this version"],
    [
      "a WebP",
      bytes("RIFF", [0x0a, 1, 2, 3], "WEBPVP8 "),
      "it is a WebP image, and images can't be read in this version",
    ],
    ["an office document", bytes("PK", [3, 4], "word/"), "it is a ZIP archive (or an office document, which is one)"],
    ["bytes with control characters", bytes("Gr", [0xfc, 1], "n"), "it is binary data"],
    ["bytes that no code page has", bytes("a text ", [0x81], " goes on"), "it is binary data"],
    [
      "Russian among digits",
      bytes("2024;17;", [0xd0, 0xf3, 0xe1, 0xeb, 0xfc], ";100.00;200.00\n"),
      "it is in an encoding that can't be told: save it as UTF-8",
    ],
    [
      "Russian in Windows-1251",
      bytes([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x20, 0xec, 0xe8, 0xf0]),
      "it is in an encoding that can't be told: save it as UTF-8",
    ],
    ["half a UTF-16 text", bytes([0xff, 0xfe, 0x3d, 0xd8]), "it is not valid UTF-16LE"],
    ["UTF-16 that doesn't say so", Buffer.from("hello world", "utf16le"), "it is binary data"],
  ])("%s is refused, and says why", (_name, content, reason) => {
    expect(decodeText(content)).toEqual({ ok: false, reason });
    expect(() => textOf("x.bin", content)).toThrow(`x.bin can't be read as text: ${reason}`);
  });

  test("pages keep their text and their number, whatever is in them", () => {
    const pages = ["one\ntwo", "", "a\fb\u0000c\uD83D", "last"];
    expect(pagesOf(joinPages(pages))).toEqual(["one\ntwo", "", "a bc\uFFFD", "last"]);
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
