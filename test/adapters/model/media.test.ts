import { describe, expect, it } from "@jest/globals";
import {
  bytesInBase64,
  inWords,
  type MediaLimits,
  mediaTypeOf,
  readMedia,
} from "../../../shared/adapters/model/media.ts";
import type { MediaPart, Message } from "../../../shared/core/messages.ts";

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3, 4]);
const PDF = Buffer.from("%PDF-1.7\n%some bytes");

const LIMITS: MediaLimits = {
  imageTypes: ["image/png", "image/jpeg"],
  imageMaxBytes: 100,
  pdf: true,
  pdfMaxBytes: 200,
  totalMaxBytes: 250,
  filesMax: 3,
};

const image = (fileId: string, name = `${fileId}.png`): MediaPart => ({
  type: "media",
  kind: "image",
  fileId,
  mediaType: "image/png",
  name,
});
const pdf = (fileId: string): MediaPart => ({ ...image(fileId, `${fileId}.pdf`), kind: "pdf" });
const user = (...content: Extract<Message, { role: "user" }>["content"]): Message => ({ role: "user", content });
const padded = (content: Uint8Array, bytes: number): Uint8Array => {
  const whole = new Uint8Array(bytes);
  whole.set(content);
  return whole;
};

const files = (known: Readonly<Record<string, Uint8Array>>) => {
  const reads: string[] = [];
  return {
    reads,
    media: (fileId: string): Promise<Uint8Array | null> => {
      reads.push(fileId);
      return Promise.resolve(known[fileId] ?? null);
    },
  };
};

/** What became of each part, in order: the file's name, or the words. */
async function shown(messages: readonly Message[], known: Readonly<Record<string, Uint8Array>>, limits = LIMITS) {
  const ready = await readMedia(messages, limits, files(known).media);
  return ready.flatMap((m) =>
    m.content.flatMap((p): string[] => {
      if (p.type === "file") return [`<${p.name} ${p.mediaType}>`];
      if (p.type === "toolResult") return [p.text, ...p.shown.map((s) => (s.type === "file" ? `<${s.name}>` : s.text))];
      return p.type === "text" ? [p.text] : [];
    }),
  );
}

describe("files that a request shows", () => {
  it("are read where they stand, in text and in tool results", async () => {
    const messages: Message[] = [
      user({ type: "text", text: "look" }, image("a")),
      { role: "assistant", content: [{ type: "toolUse", id: "t", name: "see", args: {} }] },
      user({ type: "toolResult", toolUseId: "t", text: "here", isError: false, media: [pdf("b")] }),
    ];
    expect(await shown(messages, { a: PNG, b: PDF })).toEqual(["look", "<a.png image/png>", "here", "<b.pdf>"]);
  });

  it("are typed by their content, because providers compare", async () => {
    const jpeg = Uint8Array.from([0xff, 0xd8, 0xff, 0xe0]);
    expect(await shown([user(image("a"))], { a: jpeg })).toEqual(["<a.png image/jpeg>"]);
    expect(mediaTypeOf(Buffer.from("GIF89a"))).toBe("image/gif");
    expect(mediaTypeOf(Buffer.from("RIFF\x10\0\0\0WEBPVP8 ", "latin1"))).toBe("image/webp");
    expect(mediaTypeOf(Buffer.from("junk before %PDF-1.4"))).toBe("application/pdf");
    expect(mediaTypeOf(Buffer.from("hello"))).toBeNull();
  });

  it("are read once each, however often they are shown", async () => {
    const { media, reads } = files({ a: PNG });
    await readMedia([user(image("a")), user(image("a"), image("gone"), image("gone"))], LIMITS, media);
    expect(reads.sort()).toEqual(["a", "gone"]);
  });

  it("c20: become a sentence when gone, empty, too large, or of another kind", async () => {
    const messages = [
      user(image("gone")),
      user(image("empty")),
      user(image("large")),
      user(image("text")),
      user(pdf("picture")),
    ];
    const known = { empty: new Uint8Array(0), large: padded(PNG, 101), text: Buffer.from("hello"), picture: PNG };
    expect(await shown(messages, known)).toEqual([
      expect.stringContaining("its content is gone"),
      expect.stringContaining("it is empty"),
      expect.stringContaining("over the limit"),
      expect.stringContaining("none of image/png, image/jpeg"),
      expect.stringContaining("no PDF"),
    ]);
  });

  it("c20: are named as what they are called, whatever that is", () => {
    expect(inWords(image("a", "../../etc/passwd"), "it is empty").text).toBe(
      '(An image, "../../etc/passwd", can\'t be shown here: it is empty.)',
    );
    expect(inWords(image("a", 'x"\n\ud800'), "it is empty").text.isWellFormed()).toBe(true);
  });

  it("of which a request can't hold all are shown newest first", async () => {
    const known = { a: padded(PNG, 100), b: padded(PNG, 100), c: padded(PNG, 100) };
    const messages = ["a", "b", "c"].map((id) => user(image(id)));
    expect(await shown(messages, known)).toEqual([
      expect.stringContaining("newer ones went first"),
      "<b.png image/png>",
      "<c.png image/png>",
    ]);
    expect(await shown(messages, known, { ...LIMITS, filesMax: 1 })).toEqual([
      expect.stringContaining("1 files at most"),
      expect.stringContaining("1 files at most"),
      "<c.png image/png>",
    ]);
  });

  it("are never read for a model that sees none, nor where nobody can read them", async () => {
    const blind = { ...LIMITS, imageTypes: [], pdf: false };
    const { media, reads } = files({ a: PNG });
    const ready = await readMedia([user(image("a"), pdf("b"))], blind, media);
    expect(ready[0]?.content).toEqual([
      { type: "text", text: expect.stringContaining("sees no images") },
      { type: "text", text: expect.stringContaining("takes no PDFs") },
    ]);
    expect(reads).toEqual([]);
    const alone = await readMedia([user(image("a"))], LIMITS, undefined);
    expect(alone[0]?.content).toEqual([{ type: "text", text: expect.stringContaining("its content is gone") }]);
  });

  it("fit base64 limits that count characters", () => {
    for (const chars of [0, 3, 4, 7, 8, 5 * 1024 * 1024]) {
      const bytes = bytesInBase64(chars);
      expect(Buffer.alloc(bytes).toString("base64").length).toBeLessThanOrEqual(chars);
      expect(Buffer.alloc(bytes + 1).toString("base64").length).toBeGreaterThan(chars);
    }
  });
});
