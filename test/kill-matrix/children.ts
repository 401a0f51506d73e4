// Runs that start runs: two at a time, one of them with a child of its own, one that fails; edited, cancelled, retried, and bounded together.
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { agent, role, workflow } from "../support/agents.ts";
import { retry } from "./retries.ts";
import { AGENT, charge, echo, firstText, never, type Scenario, type World } from "./world.ts";

const code = (error: unknown): string => String((error as { code?: unknown }).code);

const family: Scenario = {
  name: "children: two at a time, one of a child's own, and one that fails",
  input: "x",
  output: [["<deep>", "end"], "workflow.threw", "<after>"],
  status: "completed",
  keyedEffects: 0,
  agent: () =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => [
        ...(await Promise.all([ctx.run<string[]>("middle", 1), ctx.run("broken", 2).catch(code)])),
        await ctx.ask("r", "after"),
      ]),
      {
        middle: workflow(async (ctx) => [await ctx.run<string>("deep", 3), "end"]),
        deep: workflow(async (ctx) => await ctx.ask("r", "deep")),
        broken: workflow(async () => {
          throw new Error("out of order");
        }),
      },
    ),
  respond: echo,
};

const payer = (world: World) => role("payer", { tools: [charge(world)] });
const pay: WorkflowFn<never> = async (ctx) => [await ctx.ask("payer", "pay"), await ctx.ask("r", "second")];
const paying: Scenario["respond"] = (request) => {
  if (firstText(request) !== "pay") return echo(request);
  return request.messages.length === 1 ? { tools: [{ name: "charge", args: { sum: 3 } }] } : "paid";
};

const retried: Scenario = {
  name: "a child that has paid and fails, and goes on when its parent is retried",
  input: "x",
  output: ["paid", "<second>"],
  status: "completed",
  keyedEffects: 1,
  retried: true,
  agent: (world) =>
    agent(
      AGENT,
      [role("r"), payer(world)],
      workflow(async (ctx) => await ctx.run("pay", null)),
      { pay: workflow(pay) },
    ),
  respond: (request, world) =>
    firstText(request) === "second" && world.tries === 0 ? { status: 401 } : paying(request, world),
  people: retry,
};

const cancelled: Scenario = { ...family, name: "children that are cancelled with their parent", cancelled: true };

const edited: Scenario = {
  name: "an edit that keeps one child, drops one and asks for another",
  input: "x",
  output: [["paid", "<second>"], "<new>"],
  status: "completed",
  keyedEffects: 1,
  before: {
    agent: (world) =>
      agent(
        AGENT,
        [role("r"), payer(world)],
        workflow(async (ctx) => await Promise.all([ctx.run("pay", null), ctx.run("say", "old")])),
        { pay: workflow(pay), say: workflow(async (ctx) => await ctx.ask("r", ctx.input)) },
      ),
    until: ({ ledger }) =>
      ledger.some(({ request }) => firstText(request) === "old") && ledger.filter((e) => e.answered).length >= 2,
  },
  agent: (world) =>
    agent(
      AGENT,
      [role("r"), payer(world)],
      workflow(async (ctx) => await Promise.all([ctx.run("pay", null), ctx.run("say", "new")])),
      { pay: workflow(pay), say: workflow(async (ctx) => await ctx.ask("r", ctx.input)) },
    ),
  respond: (request, world) => {
    const text = firstText(request);
    if ((text === "second" || text === "old") && !world.edited) return never();
    return paying(request, world);
  },
  settled: (request) => firstText(request) === "pay",
};

export const CHILDREN: readonly Scenario[] = [family, retried, cancelled, edited];
