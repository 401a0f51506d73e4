// Images and PDFs by both of OpenAI's interfaces (c20), and tools as authors write them (c13): shown, or said in words; never a request that is refused for good.
import { afterAll, describe, expect, test } from "@jest/globals";
import type { AssistantPart, MediaPart } from "../../../shared/core/messages.ts";
import { resultsMessage } from "../../../shared/core/task/history.ts";
import { CASES, toolWith } from "../../authoring/input-schemas.ts";
import { encryptedPdf, makePdf } from "../../support/pdf.ts";
import { asking, assistant, closeAll, user } from "../../support/wire/openai/asking.ts";
import type { Call } from "../../support/wire/openai/index.ts";

afterAll(closeAll);

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);
const FILES: Readonly<Record<string, Uint8Array>> = {
  "a.png": PNG,
  "b.pdf": makePdf([["Hello."]]),
  "locked.pdf": encryptedPdf(),
  "empty.png": Buffer.alloc(0),
  "text.png": Buffer.from("no image at all, whatever its name"),
};
const media = (fileId: string) => Promise.resolve(FILES[fileId] ?? null);
const file = (kind: MediaPart["kind"], name: string): MediaPart => ({
  type: "media",
  kind,
  fileId: name,
  name,
  mediaType: kind === "pdf" ? "application/pdf" : "image/png",
});
const use: AssistantPart = { type: "toolUse", id: "t", name: "look", args: {} };

/** What is said and shown, in order, of messages and of what tools gave. */
const shown = ({ body }: Call): string[] =>
  [...(body.input ?? body.messages)].flatMap((item) => {
    const parts = (item as { content?: unknown; output?: unknown }).output ?? (item as { content?: unknown }).content;
    if (!Array.isArray(parts)) return typeof parts === "string" ? [parts] : [];
    return parts.map((part: { type: string; text?: string }) => part.text ?? part.type);
  });

describe.each(["responses", "chat"])("by %s", (api) => {
  const options = { api };
  const [image, pdf] = api === "chat" ? ["image_url", "file"] : ["input_image", "input_file"];
  const system = api === "chat" ? ["You are brief."] : [];

  test("c20: files that a user or a tool shows are shown", async () => {
    const { answer, sent, wire } = await asking({ model: "gpt-4o" });
    const files = [file("image", "a.png"), file("pdf", "b.pdf")];
    const found = resultsMessage([{ toolUseId: "t", result: "see", isError: false, media: files }]);
    await answer({ options, messages: [user("Look.", ...files), assistant(use), found] }, { media });
    expect(shown(sent())).toEqual([
      ...system,
      "Look.",
      image,
      pdf,
      "see",
      ...(api === "chat" ? [expect.stringContaining("the tool call t shows")] : []), // results hold text alone there
      image,
      pdf,
    ]);
    expect(wire.ledger).toHaveLength(1);
  });

  test("c20: those that are gone, empty, something else or oddly named become a sentence, and the conversation goes on", async () => {
    const { answer, sent, wire } = await asking({ model: "gpt-4o" });
    const names = ["gone.png", "empty.png", "text.png", "../../etc/passwd"];
    await answer({ options, messages: [user(...names.map((name) => file("image", name)))] }, { media });
    const words = shown(sent()).slice(system.length).join("\n");
    for (const name of names) expect(words).toContain(JSON.stringify(name));
    expect(words).toMatch(/gone.*is gone(.|\n)*it is empty(.|\n)*its content is none of(.|\n)*is gone/);
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null]);
  });

  test("c20: one that only the provider can refuse becomes a sentence with its reason, the others stay", async () => {
    const { answer, sent, wire } = await asking({ model: "gpt-4o" });
    const messages = [user(file("image", "a.png"), file("pdf", "locked.pdf"), "Look.")];
    await answer({ options, messages }, { media });
    expect(wire.ledger.map(({ refusal, billed }) => [refusal !== null, billed !== null])).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(shown(sent())).toEqual([...system, image, expect.stringContaining("password protected"), "Look."]);
  });

  test("c20: a model that sees nothing is told what it doesn't see", async () => {
    const { answer, sent, wire } = await asking({ model: "o3-mini" });
    await answer({ options, messages: [user(file("image", "a.png"), file("pdf", "b.pdf"), "Look.")] }, { media });
    expect(shown(sent()).join("\n")).toMatch(/this model sees no images(.|\n)*this model takes no PDFs(.|\n)*Look\./);
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null]);
  });

  test("c13: whatever zod can say of a tool's arguments is taken, and sent the same each time", async () => {
    const { answer, wire } = await asking({ model: "gpt-4o" });
    const tools = () =>
      Object.entries(CASES).map(([name, { input }]) => {
        const { description, inputSchema } = toolWith(input);
        return { name: name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64), description, inputSchema };
      });
    await answer({ options, tools: tools() });
    await answer({ options, tools: tools() });
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null]);
    expect(JSON.stringify(wire.ledger[1]?.body.tools)).toBe(JSON.stringify(wire.ledger[0]?.body.tools));
    expect(wire.ledger[0]?.body.tools).toHaveLength(Object.keys(CASES).length);
  });
});
