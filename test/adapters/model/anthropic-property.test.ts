// Whatever Claude answers, and whatever the task loop makes of it, the next request is one that a strict server takes.
import { afterAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ModelResponse } from "../../../shared/core/messages.ts";
import { normalise } from "../../../shared/core/task/history.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import { begin, CAPS, started, type Tape, type Task, tapeOf, task, turn } from "../../core/task/driver.ts";
import { asking, closeAll } from "../../support/wire/anthropic/asking.ts";
import type { Reply, ReplyBlock } from "../../support/wire/anthropic/index.ts";

afterAll(closeAll);

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

/** Anything that the API could answer, calls more often than not. */
function anyReply(tape: Tape): Reply {
  const content = Array.from({ length: tape.pick(5) }, () => BLOCKS[tape.pick(BLOCKS.length)]?.(tape) ?? { text: "." });
  if (tape.pick(4) > 0) content.push({ tool: "look", id: "again", input: { q: "more" } });
  if (content.some((block) => "tool" in block))
    return {
      content,
      stop: (["tool_use", "tool_use", "tool_use", "max_tokens", "refusal"] as const)[tape.pick(5)] ?? "tool_use",
    };
  return { content, stop: STOPS[tape.pick(STOPS.length)] ?? "end_turn" };
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
      let seen = 0;
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
              const refused = wire.ledger.slice(seen).find(({ refusal }) => refusal !== null);
              if (refused !== undefined)
                throw new Error(`${refused.refusal}\n${JSON.stringify(refused.body.messages)}`);
              seen = wire.ledger.length;
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
      expect(wire.ledger.length).toBeGreaterThan(300);
    },
  );
});
