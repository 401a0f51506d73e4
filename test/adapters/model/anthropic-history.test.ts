// Conversations as Claude gets them: legal whatever happened, thinking as it came or not at all, files that would be refused in words.
import { afterAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { AssistantPart, MediaPart, Message, ModelResponse } from "../../../shared/core/messages.ts";
import { answerMessage, normalise, resultsMessage } from "../../../shared/core/task/history.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import { begin, CAPS, started, type Tape, type Task, tapeOf, task, turn } from "../../core/task/driver.ts";
import { encryptedPdf, makePdf } from "../../support/pdf.ts";
import { asking, assistant, closeAll, result, user } from "../../support/wire/anthropic/asking.ts";
import type { Body, Reply, ReplyBlock } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

const lastUser = (body: Body | undefined) => body?.messages.at(-1)?.content ?? [];
const kinds = (body: Body | undefined): string[] =>
  (body?.messages ?? []).map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join(" ")}`);
const opaque = (provider: string, data: object): AssistantPart => ({ type: "opaque", provider, data: data as never });

describe("thinking", () => {
  it("goes back string-identical, in its place, with its signature", async () => {
    const { wire, answer } = await asking({
      script: (_, n) =>
        n < 2
          ? {
              content: [
                { thinking: "Let me see: é 😀\n" },
                { redacted: "secret" },
                { text: "I look." },
                { tool: "look", id: `t${n}` },
              ],
            }
          : "Done.",
    });
    const messages: Message[] = [user("Hi.")];
    for (const id of ["t0", "t1"]) {
      const { content } = await answer({ messages });
      messages.push(answerMessage(content), user(result(id)));
    }
    await answer({ messages });
    expect(kinds(wire.ledger[2]?.body)).toEqual([
      "user: text",
      "assistant: thinking redacted_thinking text tool_use",
      "user: tool_result",
      "assistant: thinking redacted_thinking text tool_use",
      "user: tool_result",
    ]);
    expect(wire.ledger[2]?.body.messages[1]?.content[0]).toMatchObject({ thinking: "Let me see: é 😀\n" });
  });

  it.each([
    ["an older part was folded into a summary", [user("A summary of it.")]],
    ["the user's words were edited", [user("Hello.")]],
  ])("of a model that binds it is left out when %s, and what comes after is kept", async (_, beginning) => {
    const { wire, answer } = await asking({
      script: (__, n) =>
        n < 2 ? { content: [{ thinking: `Thought ${n}.` }, { tool: "look", id: `t${n}` }] } : "Done.",
    });
    const first = await answer({});
    const messages = [...beginning, answerMessage(first.content), user(result("t0"))];
    const second = await answer({ messages });
    messages.push(answerMessage(second.content), user(result("t1")));
    await answer({ messages });
    expect(kinds(wire.ledger[2]?.body)).toEqual([
      "user: text",
      "assistant: tool_use",
      "user: tool_result",
      "assistant: thinking tool_use",
      "user: tool_result",
    ]);
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null, null]);
  });

  it("of a model that binds it is left out under an edited system prompt or other tools", async () => {
    const { wire, answer } = await asking({
      script: () => ({ content: [{ thinking: "Thought." }, { text: "Yes." }] }),
    });
    const { content } = await answer({});
    const messages = [user("Hi."), answerMessage(content), user("And now?")];
    await answer({ messages, system: "You look elsewhere." });
    await answer({ messages, tools: [] });
    await answer({ messages });
    expect(wire.ledger.slice(1).map(({ body }) => kinds(body)[1])).toEqual([
      "assistant: text",
      "assistant: text",
      "assistant: thinking text",
    ]);
  });

  it("of a model that doesn't bind it is kept under an edited prompt", async () => {
    const { wire, answer } = await asking({
      model: "claude-opus-4-8",
      script: () => ({ content: [{ thinking: "Thought." }, { text: "Yes." }] }),
    });
    const { content } = await answer({ options: { thinking: { type: "adaptive" } } });
    await answer({
      messages: [user("Hello."), answerMessage(content), user("And now?")],
      system: "You look elsewhere.",
    });
    expect(kinds(wire.ledger[1]?.body)[1]).toBe("assistant: thinking text");
  });

  it("of another model or another provider is left out, and an answer that is empty then too", async () => {
    const other = await asking({
      model: "claude-opus-4-8",
      script: () => ({ content: [{ thinking: "Thought." }, { text: "Yes." }] }),
    });
    const { content } = await other.answer({});
    const { wire, answer } = await asking();
    await answer({
      messages: [
        user("Hi."),
        answerMessage(content),
        user("More."),
        assistant([opaque("bedrock", { text: "r", signature: "s" })]),
        user("Hello?"),
      ],
    });
    expect(kinds(wire.ledger[0]?.body)).toEqual(["user: text", "assistant: text", "user: text text"]);
  });

  it("that was cut before its signature, or ends an answer, is left out", async () => {
    const { wire, answer } = await asking({
      script: (_, n) =>
        n === 0
          ? { content: [{ thinking: "On and on", unsigned: true }], stop: "max_tokens" }
          : n === 1
            ? { content: [{ text: "Yes." }, { thinking: "Or no." }], stop: "max_tokens" }
            : "Done.",
    });
    const messages: Message[] = [user("Hi.")];
    for (const words of ["Go on.", "And?"])
      messages.push(answerMessage((await answer({ messages })).content), user(words));
    await answer({ messages });
    expect(kinds(wire.ledger[2]?.body)).toEqual(["user: text text", "assistant: text", "user: text"]);
  });

  it("that the provider refuses all the same is left out, and the question asked again, unpaid", async () => {
    const { wire, answer } = await asking({ model: "claude-opus-4-8", refusals: true });
    const forged = opaque("anthropic", { type: "thinking", thinking: "Mine.", signature: "forged" });
    await answer({ messages: [user("Hi."), assistant([forged, { type: "text", text: "Yes." }]), user("And?")] });
    expect(wire.ledger.map(({ refusal, billed }) => [refusal !== null, billed !== null])).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(kinds(wire.ledger[1]?.body)).toEqual(["user: text", "assistant: text", "user: text"]);
  });
});

describe("a conversation", () => {
  it("has results first, whatever was said meanwhile", async () => {
    const { wire, answer } = await asking();
    const use: AssistantPart = { type: "toolUse", id: "t", name: "look", args: {} };
    await answer({ messages: [user("Hi."), assistant([use]), user("Also this.", result("t"), "  ")] });
    expect(kinds(wire.ledger[0]?.body)).toEqual(["user: text", "assistant: tool_use", "user: tool_result text"]);
  });

  it("c8: that holds calls has tools, though none are offered now, and none can be called", async () => {
    const { wire, answer } = await asking();
    const use: AssistantPart = { type: "toolUse", id: "t", name: "gone", args: { a: 1 } };
    await answer({ messages: [user("Hi."), assistant([use]), user(result("t"))], tools: [] });
    expect(wire.ledger[0]?.body).toMatchObject({ tools: [{ name: "gone" }], tool_choice: { type: "none" } });
  });

  it("in which a call was refused, and never run, goes on without it", async () => {
    const { wire, answer } = await asking({
      script: (_, n) =>
        n === 0 ? { content: [{ text: "I won't." }, { tool: "look", id: "t" }], stop: "refusal" } : "Fine.",
    });
    const { content } = await answer({});
    await answer({ messages: [user("Hi."), answerMessage(content), user("Something else, then.")] });
    expect(kinds(wire.ledger[1]?.body)).toEqual(["user: text", "assistant: text", "user: text"]);
  });

  it("c9: that was paused is sent back as it is, and goes on with its thinking", async () => {
    const options = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
    const script = (_: Body, n: number): Reply =>
      [
        {
          content: [{ thinking: "First." }, { text: "I search. " }, { search: "x", id: "srvtoolu_1" }],
          stop: "pause_turn" as const,
        },
        {
          content: [
            { answerTo: "srvtoolu_1", found: "y" },
            { thinking: "Second." },
            { search: "z", found: "w" },
            { text: "It is y. " },
          ],
          stop: "pause_turn" as const,
        },
        { content: [{ text: "All done." }] },
        "Bye.",
      ][n] ?? "?";
    const { wire, answer } = await asking({ script });
    const said: AssistantPart[] = [];
    for (const stop of ["pause", "pause", "end"]) {
      const { content, stopReason } = await answer({
        messages: [user("Hi."), ...(said.length === 0 ? [] : [assistant(said)])],
        options,
      });
      expect(stopReason).toBe(stop);
      said.push(...(answerMessage(content).content as AssistantPart[]));
    }
    await answer({ messages: [user("Hi."), assistant(said), user("Thanks.")], options });
    expect(kinds(wire.ledger[2]?.body)).toEqual([
      "user: text",
      "assistant: thinking text server_tool_use web_search_tool_result thinking server_tool_use web_search_tool_result text",
    ]);
    expect(wire.ledger[2]?.body.messages[1]?.content.at(-1)).toMatchObject({ text: "It is y." }); // no blank may end it
    expect(wire.ledger.map(({ refusal }) => refusal)).toEqual([null, null, null, null]);
  });

  it("in which a search of the provider's stayed open goes on without it", async () => {
    const options = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
    const { wire, answer } = await asking({
      script: (_, n) =>
        n === 0 ? { content: [{ text: "I search." }, { search: "x" }, { tool: "look", id: "t" }] } : "Done.",
    });
    const { content } = await answer({ options });
    const messages = [user("Hi."), answerMessage(content), user(result("t"))];
    await answer({ messages, options }); // goes on with the search
    await answer({ messages: [...messages.slice(0, -1), user(result("t"), "Never mind.")], options });
    expect(wire.ledger.slice(1).map(({ body }) => kinds(body)[1])).toEqual(
      ["assistant: text server_tool_use tool_use", "assistant: text server_tool_use tool_use"].map((with_, i) =>
        i === 0 ? with_ : "assistant: text tool_use",
      ),
    );
    const folded = assistant([
      opaque("anthropic", { type: "web_search_tool_result", tool_use_id: "srvtoolu_gone", content: [] }),
      { type: "text", text: "So." },
    ]);
    await answer({ messages: [user("A summary."), folded, user("And?")], options });
    expect(kinds(wire.ledger[3]?.body)[1]).toBe("assistant: text");
  });
});

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

const BLOCKS: readonly ((tape: Tape) => ReplyBlock)[] = [
  (tape) => ({ text: ["Done.", '{"n":1}', "", " \n ", "nul \u0000 and é", "trailing  "][tape.pick(6)] ?? "" }),
  (tape) => ({
    thinking: ["Hmm.", "", "So 😀."][tape.pick(3)] ?? "",
    ...(tape.pick(4) === 3 ? { unsigned: true as const } : {}),
  }),
  () => ({ redacted: "r" }),
  (tape) => ({
    tool: ["look", "pay", "not legal!", "rm -rf / # now"][tape.pick(4)] ?? "",
    id: ["same", "other", "odd id!"][tape.pick(3)] ?? "",
    input: [{}, { q: "\u0000é" }][tape.pick(2)],
  }),
  (tape) => ({ tool: "look", json: ['{"q":', "[1]", "null"][tape.pick(3)] ?? "" }),
  (tape) => ({ search: "x", ...(tape.pick(2) === 1 ? { found: "y" } : {}) }),
];
const STOPS = [
  "end_turn",
  "max_tokens",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
  "stop_sequence",
] as const;

/** Anything that the API could answer, calls more often than not; a paused turn doesn't end with blanks. */
function anyReply(tape: Tape): Reply {
  const content = Array.from({ length: tape.pick(5) }, () => BLOCKS[tape.pick(BLOCKS.length)]?.(tape) ?? { text: "." });
  if (tape.pick(4) > 0) content.push({ tool: "look", id: "again", input: { q: "more" } });
  if (content.some((block) => "tool" in block))
    return {
      content,
      stop: (["tool_use", "tool_use", "tool_use", "max_tokens", "refusal"] as const)[tape.pick(5)] ?? "tool_use",
    };
  const stop = STOPS[tape.pick(STOPS.length)] ?? "end_turn";
  if (stop !== "pause_turn") return { content, stop };
  return { content: content.map((block) => ("text" in block ? { text: block.text.trimEnd() } : block)), stop };
}

describe("whatever Claude answers", () => {
  it.each(["claude-sonnet-5-5", "claude-opus-4-6", "claude-haiku-4-5"])(
    "the next request is one that it takes: %s",
    async (model) => {
      const searching: Task = {
        ...task,
        caps: { ...CAPS, contextWindow: 2_500 }, // compaction has its turn
        role: {
          ...task.role,
          model: `anthropic/${model}`,
          options: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
        },
      };
      let tape: Tape = tapeOf([]);
      const { wire, ask } = await asking({ model, script: () => anyReply(tape) });
      const refused: string[] = [];
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 60, maxLength: 500 }), async (numbers) => {
          tape = tapeOf(numbers);
          const writer = begin(searching);
          started(writer);
          for (let n = 0; n < 60 && !tape.over; n++) {
            const action = nextAction(writer.state, searching.caps);
            let answer: ModelResponse | undefined;
            if (action.type === "ask") {
              const got = await ask(action.request);
              if (!got.ok) throw new Error(got.failure.error.message);
              answer = normalise(got.response, writer.state.usedIds);
            }
            if (
              !turn(
                writer,
                searching.caps,
                tape,
                () =>
                  answer ?? {
                    content: [],
                    stopReason: "end",
                    usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 },
                  },
              )
            )
              break;
          }
        }),
        { numRuns: 150, endOnFailure: true },
      );
      for (const { refusal } of wire.ledger) if (refusal !== null) refused.push(refusal);
      expect(refused).toEqual([]);
      expect(wire.ledger.length).toBeGreaterThan(300);
    },
  );
});
