// Over 300 lines: each case stands with its files. Images and PDFs as Converse takes them (c20), over real HTTP; what it would refuse is said in words, and the
// conversation goes on.
import { describe, expect, test } from "@jest/globals";
import type { MediaPart, Message, UserPart } from "../../../shared/core/messages.ts";
import type { AskContext } from "../../../shared/ports/model.ts";
import { makePdf } from "../../support/pdf.ts";
import {
  assistant,
  CLAUDE,
  LLAMA,
  LOOK,
  MODELS,
  NOVA,
  OPAQUE,
  QWEN,
  result,
  user,
  uses,
  wiring,
} from "../../support/wire/bedrock/harness.ts";
import { blocksOf, type WireBlock } from "../../support/wire/bedrock/shape.ts";

const wire = wiring();

const sized = (start: Uint8Array | string, bytes: number): Uint8Array => {
  const whole = new Uint8Array(bytes);
  whole.set(typeof start === "string" ? Buffer.from(start, "latin1") : start);
  return whole;
};
const PNG = sized("\x89PNG\r\n\x1a\n", 64);
const JPEG = sized("\xff\xd8\xff\xe0", 64);
const GIF = sized("GIF89a", 64);
const WEBP = sized("RIFF\0\0\0\0WEBP", 64);
const PDF = makePdf([["Hello."]]);

const media = (fileId: string, name = fileId): MediaPart => ({
  type: "media",
  kind: fileId.endsWith(".pdf") ? "pdf" : "image",
  fileId,
  mediaType: fileId.endsWith(".pdf") ? "application/pdf" : "image/png",
  name,
});
const context = (files: Readonly<Record<string, Uint8Array>>): AskContext => ({
  media: (id) => Promise.resolve(files[id] ?? null),
});

/** What is sent of one message of the user. */
async function shown(
  model: string,
  parts: readonly UserPart[],
  files: Readonly<Record<string, Uint8Array>>,
): Promise<WireBlock[]> {
  const { answered, sent } = await wire(model);
  await answered({ messages: [user("Look.", ...parts)] }, { context: context(files) });
  return (sent().messages[0]?.content ?? []).filter((block) => !("cachePoint" in block));
}

describe("images", () => {
  test.each([
    ["png", PNG],
    ["jpeg", JPEG],
    ["gif", GIF],
    ["webp", WEBP],
  ])("%s, by what its content says", async (format, content) => {
    const blocks = await shown(CLAUDE, [media("a.png")], { "a.png": content });
    expect(blocks).toEqual([
      { text: "Look." },
      { image: { format, source: { bytes: Buffer.from(content).toString("base64") } } },
    ]);
  });

  test.each<[string, string, MediaPart, Uint8Array | undefined]>([
    ["more than Bedrock takes", "are over the limit of 3.8 MB", media("a.png"), sized(PNG, 3_750_001)],
    ["more than 5 MiB in base64", "are over the limit of 3.8 MB", media("a.png"), sized(PNG, 4_000_000)],
    ["empty", "it is empty", media("a.png"), new Uint8Array()],
    ["gone", "its content is gone", media("a.png"), undefined],
    ["no image", "its content is none of", media("a.png"), Buffer.from("#!/bin/sh")],
    ["a PDF that isn't", "its content is no PDF", media("a.pdf"), PNG],
    ["named ../../etc/passwd", "it is empty", media("a.pdf", "../../etc/passwd"), new Uint8Array()],
  ])("c20: %s: %s", async (_, words, part, content) => {
    const blocks = await shown(CLAUDE, [part], content === undefined ? {} : { [part.fileId]: content });
    expect(blocks).toHaveLength(2);
    expect(blocks[1]).toEqual({ text: expect.stringContaining(words) });
    expect(blocks[1]).toEqual({ text: expect.stringContaining(JSON.stringify(part.name)) });
  });

  test("c20: exactly at the limit it is sent", async () => {
    const blocks = await shown(CLAUDE, [media("a.png")], { "a.png": sized(PNG, 3_750_000) });
    expect(blocksOf(blocks, "image")).toHaveLength(1);
  });

  test("at most twenty", async () => {
    const parts = Array.from({ length: 23 }, (_, i) => media(`${i}.png`));
    const blocks = await shown(
      CLAUDE,
      parts,
      Object.fromEntries(parts.map(({ fileId }, i) => [fileId, sized(PNG, 100 + i)])),
    );
    expect(blocksOf(blocks, "image")).toHaveLength(20);
    expect(blocks.slice(21)).toEqual(Array(3).fill({ text: expect.stringContaining("20 files at most") }));
  });

  test.each([QWEN, OPAQUE, "amazon.nova-micro-v1:0", "anthropic.claude-3-5-haiku-20241022-v1:0"])(
    "%s sees none: they are said in words",
    async (model) => {
      const blocks = await shown(model, [media("a.png"), media("b.pdf")], { "a.png": PNG, "b.pdf": PDF });
      expect(blocks).toEqual([
        { text: "Look." },
        { text: expect.stringContaining("sees no images") },
        { text: expect.stringContaining("takes no PDFs") },
      ]);
    },
  );
});

describe("PDFs", () => {
  const labels = (blocks: readonly WireBlock[]) => blocksOf(blocks, "document").map(({ document }) => document.name);

  test.each([CLAUDE, NOVA])("as documents, each with words beside it (%s)", async (model) => {
    const { answered, sent } = await wire(model);
    await answered({ messages: [user(media("a.pdf", "Q3 report.pdf"))] }, { context: context({ "a.pdf": PDF }) });
    expect(sent().messages[0]?.content.slice(0, 2)).toEqual([
      { text: 'The file "Q3 report.pdf" is the document "Q3 report":' },
      { document: { format: "pdf", name: "Q3 report", source: { bytes: Buffer.from(PDF).toString("base64") } } },
    ]);
  });

  test("c20: names under Bedrock's rules, unlike one another", async () => {
    const names = [
      "report.pdf",
      "Report.PDF",
      "../../etc/passwd",
      "a  b\t\u00fc_c (1) [x]-y.final.pdf",
      "\u5831\u544a.pdf",
    ];
    const parts = names.map((name, i) => media(`${i}.pdf`, name));
    const blocks = await shown(CLAUDE, parts, Object.fromEntries(parts.map(({ fileId }) => [fileId, PDF])));
    expect(labels(blocks)).toEqual(["report", "Report (2)", "document", "a b c (1) [x]-y final", "document (2)"]);
  });

  test("a long name is cut, and stays unlike another", async () => {
    const parts = ["1.pdf", "2.pdf"].map((id) => media(id, `${"x".repeat(400)}.pdf`));
    const blocks = await shown(CLAUDE, parts, { "1.pdf": PDF, "2.pdf": PDF });
    expect(labels(blocks).map((label) => label.length)).toEqual([190, 194]);
  });

  test("c20: 4.5 MB where Bedrock says so; newer models take more", async () => {
    const large = sized(PDF, 4_600_000);
    const old = await shown("anthropic.claude-3-7-sonnet-20250219-v1:0", [media("a.pdf")], { "a.pdf": large });
    expect(old[1]).toEqual({ text: expect.stringContaining("are over the limit of 4.5 MB") });
    expect(labels(await shown(CLAUDE, [media("a.pdf")], { "a.pdf": large }))).toEqual(["a"]);
  });

  test("at most five of a request, the newest, over all its messages", async () => {
    const { answered, sent } = await wire();
    const parts = Array.from({ length: 4 }, (_, i) => media(`${i}.pdf`));
    const later = Array.from({ length: 3 }, (_, i) => media(`later ${i}.pdf`));
    const files = Object.fromEntries([...parts, ...later].map(({ fileId }) => [fileId, PDF]));
    const messages = [user(...parts), assistant({ type: "text", text: "Well." }), user(...later)];
    await answered({ messages }, { context: context(files) });
    expect(sent().messages.map(({ content }) => labels(content))).toEqual([
      ["0", "1"],
      [],
      ["later 0", "later 1", "later 2"],
    ]);
    expect(JSON.stringify(sent().messages[0])).toContain("shows 5 PDFs at most");
  });

  test("what is too much together is said in words, the oldest first", async () => {
    const { answered, sent } = await wire();
    const files = { "1.pdf": sized(PDF, 8_000_000), "2.pdf": sized(PDF, 8_000_000) };
    const messages = [user(media("1.pdf")), assistant({ type: "text", text: "Well." }), user(media("2.pdf"))];
    await answered({ messages }, { context: context(files) });
    expect(sent().messages.map(({ content }) => labels(content))).toEqual([[], [], ["2"]]);
    expect(sent().messages[0]?.content[0]).toEqual({ text: expect.stringContaining("may have 12.0 MB together") });
  });
});

describe("shown by a tool", () => {
  const files = { "a.png": PNG, "b.pdf": PDF };
  const messages: Message[] = [
    user("Go."),
    assistant(uses("c1"), uses("c2")),
    user(
      {
        type: "toolResult",
        toolUseId: "c1",
        text: "Two files.",
        isError: false,
        media: [media("a.png"), media("b.pdf")],
      },
      result("c2", "ok"),
    ),
  ];
  const keys = (blocks: readonly object[]) => blocks.map((block) => Object.keys(block)[0]);

  test("Nova: both within the result", async () => {
    const { answered, sent } = await wire(NOVA);
    await answered({ tools: [LOOK], messages }, { context: context(files) });
    const [first, second, ...rest] = blocksOf(sent().messages[2]?.content ?? [], "toolResult");
    expect(keys(first?.toolResult.content ?? [])).toEqual(["text", "image", "text", "document"]);
    expect(keys(second?.toolResult.content ?? [])).toEqual(["text"]);
    expect(rest).toEqual([]);
  });

  test("Claude: the image within, the PDF behind all results, with the call's name", async () => {
    const { answered, sent } = await wire(CLAUDE);
    await answered({ tools: [LOOK], messages }, { context: context(files) });
    const content = sent().messages[2]?.content ?? [];
    expect(keys(content)).toEqual(["toolResult", "toolResult", "text", "text", "document", "cachePoint"]);
    expect(keys(blocksOf(content, "toolResult")[0]?.toolResult.content ?? [])).toEqual(["text", "image"]);
    expect(content[2]).toEqual({ text: "Shown by the tool call c1:" });
  });

  test("Llama: the image in a turn of its own, the PDF in words", async () => {
    const { answered, sent } = await wire(LLAMA);
    await answered({ tools: [LOOK], messages }, { context: context(files) });
    const [, , results, , last] = sent().messages;
    expect(keys(results?.content ?? [])).toEqual(["toolResult", "toolResult"]);
    expect(keys(last?.content ?? [])).toEqual(["text", "image"]);
    expect(JSON.stringify(results)).toContain("takes no PDFs");
  });

  test.each(MODELS)("in whatever state the files are, %s takes the request", async (model) => {
    const { answered, server } = await wire(model);
    for (const known of [
      files,
      {},
      { "a.png": new Uint8Array(), "b.pdf": PNG },
      { "a.png": PDF, "b.pdf": sized(PDF, 11_999_990) },
    ])
      await answered({ messages }, { context: context(known) });
    expect(server.ledger.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

describe("a file that the provider refuses", () => {
  const LOCKED = makePdf([["Hello."]], "/Encrypt 1 0 R");
  const BROKEN = sized("\x89PNG\r\n\x1a\nBROKEN", 64);
  const bytes = (content: Uint8Array) => Buffer.from(content).toString("base64");

  test("is left out, and the others are shown", async () => {
    const { answered, sent, server } = await wire();
    const files = { "a.pdf": PDF, "locked.pdf": LOCKED, "c.png": BROKEN, "d.png": PNG };
    const messages = [
      user("Look.", media("a.pdf"), media("locked.pdf")),
      assistant({ type: "text", text: "Well." }),
      user(media("c.png"), media("d.png")),
    ];
    await answered({ messages }, { context: context(files) });
    expect(server.ledger.map(({ status }) => status)).toEqual([400, 400, 200]);
    const body = JSON.stringify(sent());
    for (const shownStill of [PDF, PNG]) expect(body).toContain(bytes(shownStill));
    for (const gone of [LOCKED, BROKEN]) expect(body).not.toContain(bytes(gone));
    for (const name of ["locked.pdf", "c.png"])
      expect(body).toContain(
        JSON.stringify(`${JSON.stringify(name)}, can't be shown here: the provider refused it.`).slice(1, -1),
      );
  });

  test("within the result of a tool", async () => {
    const { answered, sent, server } = await wire(CLAUDE);
    const shownByTool = { ...result("c1", "Two."), media: [media("c.png"), media("d.png")] } as UserPart;
    await answered(
      { messages: [user("Go."), assistant(uses("c1")), user(shownByTool)] },
      { context: context({ "c.png": BROKEN, "d.png": PNG }) },
    );
    expect(server.ledger.map(({ status }) => status)).toEqual([400, 200]);
    expect(JSON.stringify(sent())).toContain(bytes(PNG));
  });

  test("where it isn't said which, all are", async () => {
    const { answered, sent, server } = await wire();
    const message = "A maximum of 100 PDF pages may be provided.";
    server.faults = (n) => (n === 0 ? { fault: "exception", status: 400, name: "ValidationException", message } : null);
    await answered(
      { messages: [user("Look.", media("a.pdf"), media("d.png"))] },
      { context: context({ "a.pdf": PDF, "d.png": PNG }) },
    );
    expect(blocksOf(sent().messages[0]?.content ?? [], "text")).toHaveLength(3);
    expect(server.ledger.map(({ status }) => status)).toEqual([400, 200]);
  });

  test("many of them are no endless matter, and the conversation goes on", async () => {
    const { answered, server } = await wire();
    const parts = Array.from({ length: 15 }, (_, i) => media(`${i}.png`));
    const files = Object.fromEntries(parts.map(({ fileId }) => [fileId, BROKEN]));
    await answered({ messages: [user("Look.", ...parts)] }, { context: context(files) });
    expect(server.ledger.map(({ status }) => status)).toEqual([...Array(8).fill(400), 200]);
  });
});

test("files that can't be read now are another try's", async () => {
  const { failed, server } = await wire();
  const away: AskContext = { media: () => Promise.reject(new Error("connection terminated")) };
  expect(await failed({ messages: [user(media("a.png"))] }, { context: away })).toEqual({
    error: { code: "model.unavailable", message: "A file of the request can't be read: connection terminated" },
    retryable: true,
  });
  expect(server.ledger).toHaveLength(0);
});

test("nobody who could read files: they are gone", async () => {
  const { answered, sent } = await wire();
  await answered({ messages: [user("Look.", media("a.png"))] });
  expect(JSON.stringify(sent())).toContain("its content is gone");
});
