// Files that Claude is shown, and what becomes of those that it would refuse (c20).
import { afterAll, describe, expect, it } from "@jest/globals";
import type { AssistantPart, MediaPart } from "../../../shared/core/messages.ts";
import { resultsMessage } from "../../../shared/core/task/history.ts";
import { encryptedPdf, makePdf } from "../../support/pdf.ts";
import { asking, assistant, closeAll, user } from "../../support/wire/anthropic/asking.ts";
import type { Body } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

const lastUser = (body: Body | undefined) => body?.messages.at(-1)?.content ?? [];
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);
const file = (kind: "image" | "pdf", name: string): MediaPart => ({
  type: "media",
  kind,
  fileId: name,
  name,
  mediaType: kind === "pdf" ? "application/pdf" : "image/png",
});
const large = Buffer.concat([PNG, Buffer.alloc(7_600_000)]);

describe("files", () => {
  const files: Readonly<Record<string, Uint8Array>> = {
    "a.png": PNG,
    "b.pdf": makePdf([["Hello."]]),
    "locked.pdf": encryptedPdf(),
    "large.png": large,
    "odd.png": Buffer.concat([PNG.subarray(0, 8), Buffer.from("then nothing")]),
    "empty.png": Buffer.alloc(0),
  };
  const media = (fileId: string) => Promise.resolve(files[fileId] ?? null);

  it("are shown in what a user says and in what a tool found", async () => {
    const { wire, answer } = await asking();
    const use: AssistantPart = { type: "toolUse", id: "t", name: "look", args: {} };
    const found = resultsMessage([
      { toolUseId: "t", result: "see", isError: false, media: [file("image", "a.png"), file("pdf", "b.pdf")] },
    ]);
    await answer({ messages: [user(file("image", "a.png"), "What is it?"), assistant([use]), found] }, { media });
    expect(wire.ledger[0]?.body.messages[0]?.content).toMatchObject([
      { type: "image", source: { media_type: "image/png", data: PNG.toString("base64") } },
      { type: "text" },
    ]);
    expect(lastUser(wire.ledger[0]?.body)[0]).toMatchObject({
      content: [{ type: "text" }, { type: "image" }, { type: "document", title: "b.pdf" }],
    });
  });

  it("of an error are shown too, without its flag: an error may hold text alone", async () => {
    const { wire, answer } = await asking();
    const use: AssistantPart = { type: "toolUse", id: "t", name: "look", args: {} };
    const failed = (shown: MediaPart) =>
      resultsMessage([{ toolUseId: "t", result: "no", isError: true, media: [shown] }]);
    await answer({ messages: [user("Hi."), assistant([use]), failed(file("image", "a.png"))] }, { media });
    await answer({ messages: [user("Hi."), assistant([use]), failed(file("image", "gone.png"))] }, { media });
    expect(wire.ledger.map(({ body }) => "is_error" in (lastUser(body)[0] ?? {}))).toEqual([false, true]);
  });

  it("c20: that are gone, empty, too large or named oddly become a sentence, and the conversation goes on", async () => {
    const { wire, answer } = await asking();
    const names = ["gone.png", "empty.png", "large.png", "../../etc/passwd"];
    await answer({ messages: [user(...names.map((name) => file("image", name)))] }, { media });
    expect(lastUser(wire.ledger[0]?.body).map((block) => ("text" in block ? block.text : block.type))).toEqual([
      expect.stringContaining("gone"),
      expect.stringContaining("empty"),
      expect.stringContaining("7.6 MB are over the limit of 7.5 MB"),
      expect.stringContaining('"../../etc/passwd"'),
    ]);
  });

  it("c20: that only the provider can refuse become a sentence with its reason, the others stay", async () => {
    const { wire, answer } = await asking({ refusals: true });
    await answer({ messages: [user(file("image", "a.png"), file("pdf", "locked.pdf"), "Look.")] }, { media });
    expect(wire.ledger.map(({ refusal }) => refusal !== null)).toEqual([true, false]);
    expect(lastUser(wire.ledger[1]?.body)).toMatchObject([
      { type: "image" },
      { type: "text", text: expect.stringContaining("password protected") },
      { type: "text" },
    ]);
  });

  it("that can't be read just now have the question asked later", async () => {
    const { failure, ask } = await asking();
    const away = () => Promise.reject(new Error("no database"));
    expect(await ask({ messages: [user(file("image", "a.png"))] }, { media: away })).toMatchObject({
      ok: false,
      failure: {
        retryable: true,
        error: { code: "model.unavailable", message: expect.stringContaining("no database") },
      },
    });
    void failure;
  });

  it("stay below the size of a request together, the newest first", async () => {
    const some = Object.fromEntries(
      Array.from({ length: 6 }, (_, i) => [`${i}.png`, Buffer.concat([PNG, Buffer.alloc(7_000_000)])]),
    );
    const { wire, answer } = await asking();
    await answer(
      { messages: [user(...Object.keys(some).map((name) => file("image", name)))] },
      { media: (id) => Promise.resolve(some[id] ?? null) },
    );
    expect(wire.ledger[0]?.refusal).toBeNull();
    expect(lastUser(wire.ledger[0]?.body).map(({ type }) => type)).toEqual([
      "image",
      "image",
      "image",
      "text",
      "text",
      "text",
    ]);
  });
});
