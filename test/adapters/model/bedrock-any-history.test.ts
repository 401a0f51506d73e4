// bedrock/ over real HTTP, over many made-up conversations: whatever a log holds, and whatever models answered, the next request is one that Bedrock takes.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { AssistantPart, Message } from "../../../shared/core/messages.ts";
import { answerMessage, normalise, resultsMessage, toolUses } from "../../../shared/core/task/history.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import { anyAnswer, begin, started, tapeOf, task, turn } from "../../core/task/driver.ts";
import type { Answer, AnswerBlock } from "../../support/wire/bedrock/answer.ts";
import {
  CLAUDE,
  LOOK,
  MODELS,
  OPAQUE,
  REQUEST,
  user,
  type Wired,
  wired,
  wiring,
} from "../../support/wire/bedrock/harness.ts";

const wire = wiring();

describe("property", () => {
  const OPAQUES: readonly AssistantPart[] = [
    { type: "opaque", provider: "anthropic", data: { type: "thinking", thinking: "t", signature: "s" } },
    {
      type: "opaque",
      provider: "openai",
      data: { type: "reasoning", id: "rs_1", encrypted_content: "x", summary: [] },
    },
    {
      type: "opaque",
      provider: "bedrock",
      data: { model: "amazon.nova-pro-v1:0", prefix: "p", text: "t", signature: "s" },
    },
    { type: "opaque", provider: "bedrock", data: { broken: true } },
  ];

  test("any history that a task's log can make is accepted by every family, foreign reasoning and all", async () => {
    const pairs = await Promise.all(MODELS.map((model) => wire(model)));
    const tape = fc.array(fc.nat({ max: 99 }), { minLength: 5, maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(tape, async (numbers) => {
        const at = tapeOf(numbers);
        const writer = begin({ ...task, role: { ...task.role, options: {} } });
        started(writer);
        const caps = { ...task.caps, contextWindow: at.pick(2) === 0 ? null : 1_500 }; // compacted, or not
        for (let n = 0; n < 12 && !at.over; n++) {
          const action = nextAction(writer.state, caps);
          if (action.type === "ask")
            for (const { answered, server } of pairs) {
              const { messages, tools } = action.request;
              await answered({ messages, tools: at.pick(3) === 0 ? [] : tools });
              expect(server.ledger.at(-1)?.refused).toBeNull();
            }
          const more = turn(writer, caps, at, (on) => {
            const { content, ...rest } = anyAnswer(on);
            return { ...rest, content: [...OPAQUES.slice(0, on.pick(5)), ...content] };
          });
          if (!more) break;
        }
        for (const { server } of pairs) expect(server.ledger.every(({ status }) => status === 200)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  const block: fc.Arbitrary<AnswerBlock> = fc.oneof(
    fc.record({ text: fc.constantFrom("", " ", "Yes.", "\ud83d\ude00".repeat(30), "x".repeat(500)) }),
    fc.record({
      toolUse: fc.record({
        name: fc.constantFrom("look", "pay", "no such tool", "rm -rf /"),
        raw: fc.constantFrom("", "{}", '{"at":"x"}', '{"at":', "[1]", "null", '"text"'),
        toolUseId: fc.constantFrom("same", "tooluse_1", "not legal!", "x".repeat(80)),
      }),
    }),
    fc.record({ reasoning: fc.constantFrom("", "hm", "so \n so") }),
    fc.record({ redacted: fc.constant("zzz") }),
  );
  const stops = fc.constantFrom(undefined, "end_turn", "tool_use", "max_tokens", "stop_sequence", "from_the_future");
  const answers = fc.array(fc.record({ content: fc.array(block, { maxLength: 5 }), stopReason: stops }), {
    minLength: 1,
    maxLength: 6,
  });

  test("whatever the model answers, the next request is legal", async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.constantFrom(...MODELS), async (script, model) => {
        const server = await wired(model, { profiles: { [OPAQUE]: CLAUDE } });
        server.server.script = ({ n }) => (script[n] as Answer | undefined) ?? "Done.";
        try {
          const used = new Set<string>();
          const messages: Message[] = [user("Hi.")];
          for (let step = 0; step <= script.length; step++) {
            const response = normalise(await server.answered({ tools: [LOOK], messages: [...messages] }), used);
            const calls = toolUses(response.content);
            for (const { id } of calls) used.add(id);
            messages.push(answerMessage(response.content));
            messages.push(
              calls.length > 0
                ? resultsMessage(calls.map(({ id }) => ({ toolUseId: id, result: "ok", isError: false })))
                : user("And?"),
            );
          }
          expect(server.server.ledger.map(({ refused }) => refused)).toEqual(server.server.ledger.map(() => null));
        } finally {
          await server.server.close();
        }
      }),
      { numRuns: 60 },
    );
  });

  test("a switch of model after every step keeps the history legal", async () => {
    const pairs = await Promise.all(
      MODELS.map((model) =>
        wire(model, {
          profiles: { [OPAQUE]: CLAUDE },
          script: ({ n }) => ({
            content: [{ reasoning: "r" }, ...(n % 2 ? [{ text: "t" }] : []), { toolUse: { name: "look" } }],
          }),
        }),
      ),
    );
    const used = new Set<string>();
    const messages: Message[] = [user("Hi.")];
    for (let step = 0; step < 18; step++) {
      const { answered } = pairs[(step * 5) % pairs.length] as Wired;
      const response = normalise(await answered({ ...REQUEST, tools: [LOOK], messages: [...messages] }), used);
      for (const { id } of toolUses(response.content)) used.add(id);
      messages.push(answerMessage(response.content));
      messages.push(
        resultsMessage(toolUses(response.content).map(({ id }) => ({ toolUseId: id, result: "ok", isError: false }))),
      );
    }
    for (const { server } of pairs) expect(server.ledger.every(({ refused }) => refused === null)).toBe(true);
  });
});
