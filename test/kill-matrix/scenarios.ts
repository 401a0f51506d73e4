// What is killed at every write: each scenario with the models and effects that a provider and the outside world would keep, whatever dies here.
import { canonical, type Json } from "../../shared/core/json.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import { agent, role, tool, workflow } from "../support/agents.ts";
import { AGENT, charge, echo, firstText, never, type Scenario, takeEffect, type World } from "./world.ts";

const said = (request: ModelRequest): string => canonical((request.messages.at(-1)?.content ?? []) as unknown as Json);

const mail = (world: World) =>
  tool(
    "mail",
    (args) => {
      takeEffect(world, "mail", args as Json);
      return "mailed";
    },
    { effects: "external" },
  );
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
  agent: ({ byKey }) =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        await ctx.sleep(20);
        const [a, b] = await Promise.all([ctx.ask("r", "a"), ctx.ask("r", "b")]);
        const step = await ctx.step("keyed", async ({ idempotencyKey }) => {
          byKey.set(idempotencyKey, "step");
          return "step";
        });
        const winner = await Promise.race([ctx.ask("r", "winner"), ctx.sleep(600_000).then(() => "late")]);
        return [a, b, step, winner];
      }),
    ),
  respond: echo,
};

const retriedStep: Scenario = {
  name: "a step that fails at its first try",
  input: "x",
  output: ["done at last", "<after>"],
  status: "completed",
  keyedEffects: 1,
  agent: (world) =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        const step = await ctx.step("flaky", async ({ idempotencyKey }) => {
          if (world.tries++ === 0) throw new Error("not yet");
          world.byKey.set(idempotencyKey, "flaky");
          return "done at last";
        });
        return [step, await ctx.ask("r", "after")];
      }),
    ),
  respond: echo,
};

const timedOutWave: Scenario = {
  name: "a wave that reaches its time-out",
  input: "x",
  output: ["task.timeout", "task.timeout", "<after>"],
  status: "completed",
  keyedEffects: 0,
  agent: () =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        const { results } = await ctx.wave("slow", [ctx.task("r", "slow a"), ctx.task("r", "slow b")], {
          onTaskFailure: "collect",
          timeoutMs: 30,
        });
        return [...results.map((r) => r.error?.split(":")[0] ?? null), await ctx.ask("r", "after")];
      }),
    ),
  respond: (request) => (firstText(request).startsWith("slow") ? never() : echo(request)),
};

const BLOB_CHARS = 300_000;
const blobs: Scenario = {
  name: "a wave whose outputs are blobs",
  input: "x",
  output: ["a", BLOB_CHARS, "b", BLOB_CHARS],
  status: "completed",
  keyedEffects: 0,
  agent: () =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        const { results } = await ctx.wave("large", [ctx.task("r", "a"), ctx.task("r", "b")]);
        return results.flatMap((r) => [r.output?.[0] ?? null, r.output?.length ?? null]);
      }),
    ),
  respond: (request) => firstText(request).repeat(BLOB_CHARS),
};

const cancelled: Scenario = { ...taskWithTools, name: "cancelled at a random point", cancelled: true };
const cancelledWaves: Scenario = { ...threeWaves, name: "waves that are cancelled at a random point", cancelled: true };

export const SCENARIOS: readonly Scenario[] = [
  taskWithTools,
  threeWaves,
  failingWave("fail"),
  failingWave("collect"),
  timerAndSteps,
  retriedStep,
  timedOutWave,
  blobs,
  cancelled,
  cancelledWaves,
];
