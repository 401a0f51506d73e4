// What every twin of the files port keeps.
import { describe, expect, test } from "@jest/globals";
import { FILE_MAX_BYTES } from "../../shared/core/limits.ts";
import type { Files } from "../../shared/ports/files.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export function filesConformance(what: string, get: () => Files): void {
  describe(what, () => {
    test("a file comes back byte for byte, with its name and size", async () => {
      const content = Uint8Array.from({ length: 70_000 }, (_, n) => (n * 31) % 256);
      const info = await get().add({ name: "photo.png", mediaType: "image/png", content });
      expect(info).toMatchObject({ name: "photo.png", mediaType: "image/png", bytes: 70_000 });
      expect(Buffer.compare(Buffer.from((await get().content(info.id)) ?? []), Buffer.from(content))).toBe(0);
      expect(await get().list([info.id])).toEqual([info]);
    });

    test("the same name and content is one file; another name or content another", async () => {
      const add = (name: string, text: string) => get().add({ name, mediaType: "text/plain", content: bytes(text) });
      const files = await Promise.all([add("a", "bc"), add("a", "bc"), add("ab", "c"), add("a", "bd")]);
      expect(files[1]).toEqual(files[0]);
      expect(new Set(files.map((f) => f.id)).size).toBe(3);
    });

    test("are listed in the order asked for, unknown ids left out", async () => {
      const add = (name: string) => get().add({ name, mediaType: "text/plain", content: bytes(name) });
      const [a, b] = [await add("one"), await add("two")];
      expect((await get().list([b.id, "file_unknown", a.id])).map((f) => f.name)).toEqual(["two", "one"]);
      expect(await get().list([])).toEqual([]);
      expect(await get().content("file_unknown")).toBeNull();
    });

    test.each([
      ["a path (c20)", "../../etc/passwd"],
      ["a NUL (c1)", "a\u0000b"],
      ["what an escape looks like", "\uE0FF0000"],
      ["a lone surrogate (c2)", "x\uD83D"],
      ["another script", "отчёт 😀.txt"],
      ["nothing", ""],
    ])("a name that holds %s is a label, and comes back as it was", async (_, name) => {
      const info = await get().add({ name, mediaType: "text/plain", content: bytes("x") });
      expect((await get().list([info.id]))[0]?.name).toBe(name);
    });

    test("a PDF's pages are kept beside it", async () => {
      const pdf = { name: "a.pdf", mediaType: "application/pdf", content: bytes("%PDF") };
      const info = await get().add({ ...pdf, pageTexts: ["first\nline", "", "c1: a\u0000b\f, c2: \uD83D"] });
      expect(info).toMatchObject({ pages: 3 });
      expect(await get().pageText(info.id)).toBe("first\nline\f\fc1: ab , c2: \uFFFD");
      const text = await get().add({ name: "a.txt", mediaType: "text/plain", content: bytes("x") });
      expect([text.pages, await get().pageText(text.id)]).toEqual([null, null]);
      expect(await get().pageText("file_unknown")).toBeNull();
    });

    test("all are listed newest first, page by page, each once", async () => {
      const added: string[] = [];
      for (let n = 0; n < 5; n++)
        added.push((await get().add({ name: `p${n}`, mediaType: "text/plain", content: bytes("paged") })).id);
      const seen: string[] = [];
      let before: string | undefined;
      do {
        const page = await get().page({ limit: 2, ...(before === undefined ? {} : { before }) });
        expect(page.files.length).toBeLessThanOrEqual(2);
        seen.push(...page.files.map((file) => file.id));
        before = page.next ?? undefined;
      } while (before !== undefined);
      expect(seen.slice(0, 5)).toEqual(added.reverse());
      expect(new Set(seen).size).toBe(seen.length);
      for (const cursor of ["x", Buffer.from("2026-99-99T00:00:00.000000Z file_0").toString("base64url")])
        await expect(get().page({ limit: 1, before: cursor })).rejects.toMatchObject({ code: "request.invalid" });
    });

    test("a removed file is gone; a second time, it is unknown", async () => {
      const info = await get().add({ name: "gone", mediaType: "text/plain", content: bytes("x") });
      const answers = await Promise.all([get().remove(info.id), get().remove(info.id)]);
      expect(answers.map((answer) => answer.type).sort()).toEqual(["removed", "unknown"]);
      expect(await get().content(info.id)).toBeNull();
      expect(await get().list([info.id])).toEqual([]);
    });

    test("an empty file is a file", async () => {
      const info = await get().add({ name: "empty", mediaType: "text/plain", content: new Uint8Array() });
      expect(info.bytes).toBe(0);
      expect(await get().content(info.id)).toHaveLength(0);
    });

    test("the largest is kept, one byte more is refused with its size and the limit", async () => {
      const content = new Uint8Array(FILE_MAX_BYTES);
      const info = await get().add({ name: "large", mediaType: "application/octet-stream", content });
      expect(await get().content(info.id)).toHaveLength(FILE_MAX_BYTES);
      const larger = { name: "larger", mediaType: "text/plain", content: new Uint8Array(FILE_MAX_BYTES + 1) };
      await expect(get().add(larger)).rejects.toMatchObject({
        code: "request.too_large",
        message: expect.stringMatching(new RegExp(`${FILE_MAX_BYTES + 1}.*${FILE_MAX_BYTES}`)),
      });
    });
  });
}
