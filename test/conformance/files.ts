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
