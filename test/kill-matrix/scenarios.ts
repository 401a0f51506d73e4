// What is killed at every write: each scenario with the models and effects that a provider and the outside world would keep, whatever dies here.
import { createScriptedModel, type ScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { canonical, type Json } from "../../shared/core/json.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import { agent, role, tool, workflow } from "../support/agents.ts";

export const AGENT = "crew";

/** Effects outside the runtime: a call as often as it was made, keyed ones once a key. */
export interface Effects {
  readonly calls: string[];
  readonly byKey: Map<string, string>;
}

export interface World {
  readonly model: ScriptedModel;
  readonly effects: Effects;
}

export interface Scenario {
  readonly name: string;
  readonly input: Json;
  readonly output: Json;
  readonly status: "completed" | "failed";
  /** Keyed effects in an undisturbed run: the same number after any disturbance. */
  readonly keyedEffects: number;
  agent(world: World): AgentDefinition;
  respond(request: ModelRequest): Turn;
}

export function worldOf(scenario: Scenario): World {
  return {
    model: createScriptedModel((request) => scenario.respond(request)),
    effects: { calls: [], byKey: new Map() },
  };
}

const said = (request: ModelRequest): string => canonical((request.messages.at(-1)?.content ?? []) as unknown as Json);
const firstText = (request: ModelRequest): string => {
  const part = request.messages[0]?.content[0];
  return part?.type === "text" ? part.text : "";
};
const echo = (request: ModelRequest): Turn => `<${firstText(request)}>`;

const charge = ({ effects }: World) =>
  tool(
    "charge",
    (args, ctx) => {
      const said = effects.byKey.get(ctx.idempotencyKey);
      if (said !== undefined) return said;
      effects.byKey.set(ctx.idempotencyKey, `charged ${canonical(args as Json)}`);
      return `charged ${canonical(args as Json)}`;
    },
    { effects: "external", idempotency: "keyed" },
  );
const mail = ({ effects }: World) =>
  tool("mail", () => `mail ${effects.calls.push("mail") > 0}`, { effects: "external" });
const look = tool("look", () => ({ seen: true }));

const taskWithTools: Scenario = {
  name: "a task with tools: two in parallel, one keyed; then one without a key",
  input: "pay",
  output: "done",
  status: "completed",
  keyedEffects: 1,
  agent: (world) =>
    agent(AGENT, [role("main", { tools: [charge(world), mail(world), look] })], { kind: "role", role: "main" }),
  respond: (request) => {
    if (request.messages.length === 1)
      return {
        tools: [
          { name: "charge", args: { sum: 3 } },
          { name: "look", args: {} },
        ],
      };
    if (request.messages.length === 3) return { tools: [{ name: "mail", args: {} }] };
    return "done";
  },
};

const threeWaves: Scenario = {
  name: "three waves with parallel tasks",
  input: "x",
  output: ["<2<1a>>", "<2<1b>>"],
  status: "completed",
  keyedEffects: 0,
  agent: () =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        const first = await ctx.wave(
          "first",
          ["1a", "1b", "1c"].map((t) => ctx.task("r", t)),
        );
        const second = await ctx.wave(
          "second",
          first.results.slice(0, 2).map((r) => ctx.task("r", `2${r.output}`)),
        );
        await ctx.wave(
          "third",
          ["3a", "3b"].map((t) => ctx.task("r", t)),
        );
        return second.results.map((r) => r.output ?? null);
      }),
    ),
  respond: echo,
};

const failingWave = (onTaskFailure: "fail" | "collect"): Scenario => ({
  name: `a failing wave under ${onTaskFailure}, caught`,
  input: "x",
  output: onTaskFailure === "fail" ? "caught, then <after>" : ["completed", "failed", "completed"],
  status: "completed",
  keyedEffects: 0,
  agent: () =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        try {
          const { results } = await ctx.wave(
            "w",
            ["good", "bad", "fine"].map((t) => ctx.task("r", t)),
            { onTaskFailure },
          );
          return results.map((r) => r.status);
        } catch {
          return `caught, then ${await ctx.ask("r", "after")}`;
        }
      }),
    ),
  respond: (request) => (said(request).includes("bad") ? { refusal: true } : echo(request)),
});

const timerAndSteps: Scenario = {
  name: "a timer, a step with a key, a race and two asks side by side",
  input: "x",
  output: ["<a>", "<b>", "step", "<winner>"],
  status: "completed",
  keyedEffects: 1,
  agent: ({ effects }) =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        await ctx.sleep(20);
        const [a, b] = await Promise.all([ctx.ask("r", "a"), ctx.ask("r", "b")]);
        const step = await ctx.step("keyed", async ({ idempotencyKey }) => {
          effects.byKey.set(idempotencyKey, "step");
          return "step";
        });
        const winner = await Promise.race([ctx.ask("r", "winner"), ctx.sleep(600_000).then(() => "late")]);
        return [a, b, step, winner];
      }),
    ),
  respond: echo,
};

export const SCENARIOS: readonly Scenario[] = [
  taskWithTools,
  threeWaves,
  failingWave("fail"),
  failingWave("collect"),
  timerAndSteps,
];
