// What a matrix row is made of: a scenario, and the world around it that keeps its books whatever dies.
import { createScriptedModel, type ScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { canonical, type Json } from "../../shared/core/json.ts";
import type { ModelRequest, Usage } from "../../shared/core/messages.ts";
import type { Budget } from "../../shared/core/task/ledger.ts";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import type { Model } from "../../shared/ports/model.ts";
import { tool } from "../support/agents.ts";
import { type Books, digestOfRequest, effectOf } from "../support/log-checker.ts";

export const AGENT = "crew";

export interface World {
  readonly model: Model;
  /** Questions that reached the model, as a provider would bill them. */
  readonly ledger: ScriptedModel["ledger"];
  /** Keyed effects: the outside world does a key once, and then says what it said. */
  readonly byKey: Map<string, string>;
  /** Effects without a key, as often as they were asked for. */
  readonly calls: Map<string, number>;
  /** Counts what the scenario wants counted, whatever dies: tries of something that fails at first, what people allowed. */
  tries: number;
  /** Of scenarios with an edit: the new code is there, and models that hung answer. */
  edited: boolean;
  books(): Books;
  /** What the provider billed for a question. */
  usageOf(request: ModelRequest): Usage;
}

export interface Scenario {
  readonly name: string;
  readonly input: Json;
  readonly output: Json;
  readonly status: "completed" | "failed";
  /** Keyed effects in an undisturbed run: the same number after any disturbance. */
  readonly keyedEffects: number;
  agent(world: World): AgentDefinition;
  respond(request: ModelRequest, world: World): Turn | Promise<Turn>;
  /** Code of the generation before: it runs until this holds, is killed there, and is edited to `agent`. Then the disturbances begin. */
  readonly before?: { agent(world: World): AgentDefinition; until(world: World): boolean };
  /** Questions with recorded answers when the disturbances begin: none of them is asked again. */
  settled?(request: ModelRequest): boolean;
  /** Digests of its questions hold the place of a seal in the log, which the model's ledger can't know: the ledger is counted, not matched. */
  readonly sealed?: boolean;
  /** Whoever the run waits for does what is next, each time that it waits. */
  people?(deps: EngineDeps, runId: string, world: World): Promise<void>;
  /** It fails, and people have it go on; what they do dies with the stack, as all else. */
  readonly retried?: boolean;
  /** What the run may use. */
  readonly budget?: Budget;
  /** Somebody cancels the run after so many of its writes, a share from 0 to 1. It ends as cancelled then, or whole. */
  readonly cancelled?: boolean;
}

const NO_USAGE: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };

export function worldOf(scenario: Scenario): World {
  const usages = new Map<string, Usage>();
  const scripted = createScriptedModel((request) => scenario.respond(request, world));
  const world: World = {
    ledger: scripted.ledger,
    byKey: new Map(),
    calls: new Map(),
    tries: 0,
    edited: false,
    model: {
      ask: async (request, signal, context) => {
        const answer = await scripted.ask(request, signal, context);
        if (answer.ok) usages.set(digestOfRequest(request), answer.response.usage);
        return answer;
      },
    },
    usageOf: (request) => usages.get(digestOfRequest(request)) ?? NO_USAGE,
    books: () => ({
      ledger: scripted.ledger.map(({ request, answered }) => {
        const digest = digestOfRequest(request);
        return { digest, answered, usage: usages.get(digest) ?? NO_USAGE };
      }),
      effects: { keyed: new Map([...world.byKey.keys()].map((key) => [key, 1])), unkeyed: world.calls },
    }),
  };
  return world;
}

export function takeEffect(world: World, tool: string, args: Json): void {
  const effect = effectOf(tool, args);
  world.calls.set(effect, (world.calls.get(effect) ?? 0) + 1);
}

/** A tool with a keyed effect: what it did once it says again. */
export const charge = ({ byKey }: World) =>
  tool(
    "charge",
    (args, ctx) => {
      const said = byKey.get(ctx.idempotencyKey) ?? `charged ${canonical(args as Json)}`;
      byKey.set(ctx.idempotencyKey, said);
      return said;
    },
    { effects: "external", idempotency: "keyed" },
  );

/** The text of a question's first message. */
export const firstText = (request: ModelRequest): string => {
  const part = request.messages[0]?.content[0];
  return part?.type === "text" ? part.text : "";
};
export const echo = (request: ModelRequest): Turn => `<${firstText(request)}>`;
export const never = (): Promise<never> => new Promise(() => {});
