// Answers of OpenAI's that ended as failed, or broke off: what they say, and what they have cost.
import { afterAll, describe, expect, test } from "@jest/globals";
import { asking, closeAll, user, WATCHED } from "../../support/wire/openai/asking.ts";

afterAll(closeAll);

test("a server that counts in every chunk is believed when its stream breaks off", async () => {
  const counts = { prompt_tokens: 12, completion_tokens: 3 };
  const chunk = { choices: [{ index: 0, delta: { content: "So far" } }], usage: counts };
  const { failure } = await asking({
    server: true,
    script: () => "",
    faults: () => ({
      status: 200,
      body: `data: ${JSON.stringify(chunk)}\n\n`,
      headers: { "content-type": "text/event-stream" },
    }),
  });
  expect((await failure({}, WATCHED)).usage).toMatchObject({ input: 12, output: 3 });
});

describe("an answer of Responses that failed", () => {
  test.each<[string, string, string, boolean]>([
    ["server_error", "oops", "model.unavailable", true],
    ["rate_limit_exceeded", "slow down", "model.unavailable", true],
    ["vector_store_timeout", "slow", "model.unavailable", true],
    ["invalid_prompt", "flagged", "model.refused", false],
    ["bio_policy", "no", "model.refused", false],
    ["unsupported_image_media_type", "no such image", "model.bad_request", false],
    ["context_length_exceeded", "too long", "context_exceeded", false],
  ])("%s", async (code, message, found, retryable) => {
    const { failure } = await asking({
      model: "gpt-4o",
      script: () => ({ items: [], status: "failed", error: { code, message } }),
    });
    expect(await failure()).toMatchObject({
      error: { code: found, message: expect.stringContaining(message) },
      retryable,
    });
  });

  test.each(["failed", "cancelled"] as const)(
    "a %s one has cost what it says, in the background too",
    async (status) => {
      for (const options of [{}, { background: true }]) {
        const { failure, wire } = await asking({
          model: "gpt-5",
          script: () => ({ items: [{ text: "So far." }], status }),
        });
        const { usage } = await failure({ options });
        const { input, cached, written, output, reasoning } = wire.ledger[0]?.billed ?? {};
        expect(usage).toEqual({
          input: (input ?? 0) - (cached ?? 0) - (written ?? 0),
          cacheRead: cached,
          cacheWrite: written,
          output,
          reasoning,
        });
        expect(usage?.output).toBeGreaterThan(0);
      }
    },
  );

  test("what one has cost that was asked again without a file is in the usage of the answer", async () => {
    const { answer, wire } = await asking({
      model: "gpt-4o",
      script: (_, n) =>
        n === 0
          ? { items: [{ text: "So far." }], status: "failed", error: { code: "invalid_image", message: "No image." } }
          : "Yes.",
    });
    const image = { type: "media", kind: "image", fileId: "f", mediaType: "image/png", name: "a.png" } as const;
    const media = async () => Buffer.from("\x89PNG\r\n\x1a\nand what an image has", "latin1");
    const { usage, content } = await answer({ messages: [user("Look.", image)] }, { media });
    expect(content).toEqual([{ type: "text", text: "Yes." }]);
    const all = wire.ledger.map(({ billed }) => billed);
    expect(all).toHaveLength(2);
    const sum = (of: "input" | "output"): number => all.reduce((n, billed) => n + (billed?.[of] ?? 0), 0);
    expect(usage.input + usage.cacheRead + usage.cacheWrite).toBe(sum("input"));
    expect(usage.output).toBe(sum("output"));
  });

  test("a cancelled one is asked again", async () => {
    const { failure } = await asking({ model: "gpt-4o", script: () => ({ items: [], status: "cancelled" }) });
    expect(await failure()).toMatchObject({ error: { code: "model.bad_answer" }, retryable: true });
  });
});
