import { expect, test } from "@jest/globals";
import { joinPages } from "../../shared/core/text-files.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { toolFiles } from "../../shared/engine/file-texts.ts";
import type { FileInfo } from "../../shared/ports/files.ts";

/** Ids are by content, and texts are kept by them: no two tests share one. */
function filesOf(infos: readonly FileInfo[], texts: Readonly<Record<string, string | Uint8Array>>) {
  const asked: string[] = [];
  const deps = {
    files: {
      list: async () => [...infos],
      content: async (id: string) => {
        asked.push(`content ${id}`);
        return Buffer.from(texts[id] as string);
      },
      pageText: async (id: string) => {
        asked.push(`pageText ${id}`);
        return texts[id] as string;
      },
    },
    store: { runs: { files: async () => infos.map(({ id }) => id) } },
  } as unknown as EngineDeps;
  return { asked, toolFiles: () => toolFiles(deps, "agent", "run") };
}
const info = (id: string, pages: number | null): FileInfo => ({ id, name: `${id}.x`, mediaType: "", bytes: 1, pages });

test("a PDF isn't parsed again: its pages come as they were kept, and are read from the database once", async () => {
  const files = filesOf([info("kept-pdf", 2)], { "kept-pdf": joinPages(["one", "two"]) });
  for (let n = 0; n < 3; n++) expect(await files.toolFiles().text("kept-pdf")).toBe("one\ftwo");
  expect(files.asked).toEqual(["pageText kept-pdf"]);
});

test("a text is decoded from its content, and read once", async () => {
  const files = filesOf([info("latin", null)], { latin: Buffer.from("Gr\xfc\xdfe", "latin1") });
  for (let n = 0; n < 2; n++) expect(await files.toolFiles().text("latin")).toBe("Grüße");
  expect(files.asked).toEqual(["content latin"]);
});

test("what isn't attached to the run isn't read; an image says that it can't be", async () => {
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
  const files = filesOf([info("image", null)], { image: png });
  expect(await files.toolFiles().text("other")).toBeNull();
  await expect(files.toolFiles().text("image")).rejects.toMatchObject({
    code: "file.unreadable",
    message: "image.x can't be read as text: it is a PNG image, and images can't be read in this version",
  });
  expect(files.asked).toEqual(["content image"]);
});
