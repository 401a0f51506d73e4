// One log, any provider: a task whose model and provider change in the middle of it, cut anywhere, compacted or not. What it asks next is a request that each
// provider takes, whoever answered before.
import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { ModelRequest, ModelResponse } from "../../../shared/core/messages.ts";
import { normalise } from "../../../shared/core/task/history.ts";
import { nextAction } from "../../../shared/core/task/loop.ts";
import type { ModelAnswer } from "../../../shared/ports/model.ts";
import {
  begin,
  recorded,
  started,
  type Tape,
  type Task,
  takeUp,
  tapeOf,
  task,
  turn,
  type Writer,
} from "../../core/task/driver.ts";
import * as anthropic from "../../support/wire/anthropic/asking.ts";
import { CLAUDE, NOVA, wiring } from "../../support/wire/bedrock/harness.ts";
import * as openai from "../../support/wire/openai/asking.ts";

afterAll(async () => {
  await anthropic.closeAll();
  await openai.closeAll();
});
const bedrock = wiring();

/** What a model says: the same on every wire. Calls more often than not; ids that others have used too. */
interface Saying {
  readonly thought: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly id: string }[];
  readonly cut: boolean;
}
const NAMES = ["look", "pay", "rm -rf / # now"];
const IDS = ["same", "other", "odd id!"];
function sayingOf(tape: Tape): Saying {
  const calls = Array.from({ length: [1, 1, 2, 1, 1, 1, 2, 0][tape.pick(8)] ?? 0 }, () => ({
    name: NAMES[tape.pick(3)] ?? "",
    id: IDS[tape.pick(3)] ?? "",
  }));
  const text = ["Well.", "long ".repeat(200), " ", "long ".repeat(100)][tape.pick(4)] ?? "";
  return { thought: ["Hm.", ""][tape.pick(2)] ?? "", text, calls, cut: tape.pick(6) === 5 };
}

interface Provider {
  readonly name: string;
  /** Any number of questions, answered as `saying` has it. */
  ask(request: Partial<ModelRequest>): Promise<ModelAnswer>;
  refusals(): readonly string[];
}

async function providers(saying: () => Saying): Promise<readonly Provider[]> {
  const claude = async (model: string, options = {}): Promise<Provider> => {
    const asked = await anthropic.asking({
      model,
      script: () => {
        const { thought, text, calls, cut } = saying();
        const content = [
          ...(thought === "" ? [] : [{ thinking: thought }]),
          { text },
          ...calls.map(({ name, id }) => ({ tool: name, id })),
        ];
        return { content, ...(cut ? { stop: "max_tokens" as const } : {}) };
      },
    });
    return {
      name: model,
      ask: (request) => asked.ask({ ...request, options }),
      refusals: () => asked.wire.ledger.flatMap(({ refusal }) => refusal ?? []),
    };
  };
  const gpt = async (model: string, api: "chat" | "responses"): Promise<Provider> => {
    const asked = await openai.asking({
      model,
      script: () => {
        const { thought, text, calls, cut } = saying();
        const items = [
          ...(thought === "" || model === "gpt-4o" ? [] : [{ reasoning: thought }]),
          { text },
          ...calls.map(({ name, id }) => ({ tool: name, id })),
        ];
        return { items, status: cut ? "incomplete" : "completed" };
      },
    });
    return {
      name: `${model} by ${api}`,
      ask: (request) => asked.ask({ ...request, options: { api } }),
      refusals: () => asked.wire.ledger.flatMap(({ refusal }) => refusal ?? []),
    };
  };
  const converse = async (model: string): Promise<Provider> => {
    const wired = await bedrock(model, {
      script: () => {
        const { thought, text, calls, cut } = saying();
        const content = [
          ...(thought === "" || model === NOVA ? [] : [{ reasoning: thought }]),
          { text },
          ...calls.map(({ name, id }) => ({ toolUse: { name, toolUseId: id } })),
        ];
        return { content, ...(cut ? { stopReason: "max_tokens" } : {}) };
      },
    });
    return {
      name: model,
      ask: (request) => wired.ask({ ...request, options: {} }),
      refusals: () => wired.server.ledger.flatMap(({ refused }) => refused ?? []),
    };
  };
  return await Promise.all([
    claude("claude-sonnet-5-5"),
    claude("claude-sonnet-4-5", { thinking: { type: "enabled", budget_tokens: 1_024 } }),
    gpt("gpt-5-mini", "responses"),
    gpt("gpt-4o", "chat"),
    converse(CLAUDE),
    converse(NOVA),
  ]);
}

const requestFor = ({ system, tools, messages, maxTokens }: ModelRequest): Partial<ModelRequest> => ({
  system,
  tools,
  messages,
  maxTokens,
});

const SUMMARY: Saying = { thought: "Hm.", text: "What was said so far.", calls: [], cut: false };

/** A log of some steps, each answered by whoever the tape says. `say`: what the next answer is. */
async function logged(of: Task, tape: Tape, all: readonly Provider[], say: (next: Saying) => void): Promise<Writer> {
  const writer = begin(of);
  started(writer);
  for (let n = 0; n < 40 && !tape.over; n++) {
    const action = nextAction(writer.state, of.caps);
    let answer: ModelResponse | null = null;
    if (action.type === "ask") {
      say(action.purpose === "summary" ? SUMMARY : sayingOf(tape));
      const got = await all[tape.pick(all.length)]?.ask(requestFor(action.request));
      if (got?.ok !== true) throw new Error(JSON.stringify(got));
      answer = normalise(got.response, writer.state.usedIds);
    }
    const usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
    if (!turn(writer, of.caps, tape, () => answer ?? { content: [], stopReason: "end", usage })) break;
  }
  return writer;
}

const BY = ['"provider":"anthropic"', '"provider":"openai"', '"provider":"bedrock"'];

describe("I6: any prefix of any log, cut anywhere", () => {
  test("asks next what every provider takes, whoever answered before; compacted too", async () => {
    let next = SUMMARY;
    const all = await providers(() => next);
    let asked = 0;
    let compacted = 0;
    let mixed = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(10_000), { minLength: 60, maxLength: 400 }), async (numbers) => {
        const tape = tapeOf(numbers);
        const of: Task = {
          ...task,
          role: { ...task.role, maxTokens: 2_000 },
          caps: { ...task.caps, contextWindow: tape.pick(3) === 0 ? null : 1_500 },
        };
        const { raw } = await logged(of, tape, all, (saying) => {
          next = saying;
        });
        for (let cuts = 0; cuts < 3; cuts++) {
          const lastAsked = raw.findLastIndex(({ type }) => type === "LlmCallStarted");
          const prefix = raw.slice(0, cuts === 0 ? lastAsked : 1 + tape.pick(raw.length));
          if (cuts > 0 && tape.pick(2) === 0)
            recorded(prefix, {
              type: "StreamInvalidated",
              fromSeq: 1 + tape.pick(prefix.length),
              reason: "an edit",
              generation: 1,
            });
          const heir = takeUp(of, prefix);
          if (heir === null) continue; // somebody has to decide first
          const action = nextAction(heir.state, of.caps);
          if (action.type !== "ask") continue;
          asked++;
          if (prefix.some(({ type }) => type === "ContextCompacted")) compacted++;
          const text = JSON.stringify(action.request.messages);
          if (BY.filter((provider) => text.includes(provider)).length > 1) mixed++;
          for (const { name, ask } of all) {
            const got = await ask(requestFor(action.request));
            expect([name, got.ok ? "taken" : got.failure.error.message]).toEqual([name, "taken"]);
          }
        }
        for (const { name, refusals } of all) expect([name, refusals()]).toEqual([name, []]);
      }),
      { numRuns: 30, endOnFailure: true },
    );
    expect(asked).toBeGreaterThan(30);
    expect(compacted).toBeGreaterThan(0);
    expect(mixed).toBeGreaterThan(0);
  }, 60_000);
});
