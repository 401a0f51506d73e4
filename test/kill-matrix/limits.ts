// What bounds a task: the model's window, and money. Its rows hold more writes than most: summaries are calls of their own, and each call reserves.
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { RoleDefinition } from "../../shared/ports/agents.ts";
import { agent, role, SCRIPT, tool, workflow } from "../support/agents.ts";
import { AGENT, charge, firstText, type Scenario } from "./world.ts";

const text = (request: ModelRequest): string => JSON.stringify(request.messages);
const isSummary = (request: ModelRequest): boolean => text(request).includes("will go on from a summary");
const steps = (request: ModelRequest): number =>
  Number([...text(request).matchAll(/look is at (\d+)/g)].at(-1)?.[1] ?? 0);

/** Looks at so many things, one a step; how far it is stands in the last result, whatever was left out before. */
const looker = (name: string, chars: number, last: number, more: Partial<RoleDefinition>): Scenario => ({
  name,
  input: "look at all of them",
  output: "seen all",
  status: "completed",
  keyedEffects: 1,
  sealed: true,
  agent: (world) => {
    const look = tool("look", (args) => `${"x".repeat(chars)} look is at ${(args as { n: number }).n}`);
    return agent(AGENT, [role("main", { tools: [look, charge(world)], ...more })], { kind: "role", role: "main" });
  },
  respond: (request) => {
    if (isSummary(request)) return `summary: look is at ${steps(request)}`;
    const n = steps(request);
    if (n >= last) return text(request).includes("charged") ? "seen all" : { tools: [{ name: "charge", args: { n } }] };
    return { tools: [{ name: "look", args: { n: n + 1 } }] };
  },
});

const elided = looker("a window that fills with results of tools", 900, 6, { contextWindow: 2_000, maxTokens: 50 });
const folded = looker("a window that fills with steps: twice a summary", 300, 16, {
  contextWindow: 1_000,
  maxTokens: 50,
});

const parts: Scenario = {
  name: "an input over the window",
  input: "a long story ".repeat(300),
  output: "read",
  status: "completed",
  keyedEffects: 0,
  sealed: true,
  agent: () => agent(AGENT, [role("main", { contextWindow: 1_000, maxTokens: 50 })], { kind: "role", role: "main" }),
  respond: (request) => (text(request).includes("This is part") ? `of ${text(request).length}` : "read"),
};

/** Not all of four tasks can be paid. A call that died unheard may have been paid, so it counts. */
const budget: Scenario = {
  name: "a run's budget that doesn't reach for all of a wave",
  input: "x",
  output: "budget_exhausted",
  status: "completed",
  keyedEffects: 0,
  budget: { totalTokens: 3_000, maxCostUsd: null },
  agent: () =>
    agent(
      AGENT,
      [role("r", { maxTokens: 900 })],
      workflow(async (ctx) => {
        const tasks = Array.from({ length: 4 }, (_, i) => ctx.task("r", `task ${i}`));
        const { results } = await ctx.wave("w", tasks, { onTaskFailure: "collect" });
        return results.find((r) => r.error)?.error?.split(":")[0] ?? "none"; // how many fail depends on how many calls died unheard
      }),
    ),
  respond: (request) => `${"long ".repeat(700)}${firstText(request)}`,
};

/** Places of the dead run out, turns that nobody hears are called again: the wave ends. */
const gates: Scenario = {
  name: "a wave of two through gates with one place each",
  input: "x",
  output: 2,
  status: "completed",
  keyedEffects: 0,
  agent: () => ({
    ...agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        const tasks = [ctx.task("r", "one"), ctx.task("r", "two")];
        return (await ctx.wave("w", tasks, { maxParallel: 1 })).results.length;
      }),
    ),
    models: new Map([
      [SCRIPT, { maxInFlight: 1, tokensPerMinute: null, contextWindow: null, maxOutput: null, price: null }],
    ]),
  }),
  respond: (request) => firstText(request),
};

export const LIMITS: readonly Scenario[] = [elided, folded, parts, budget, gates];
