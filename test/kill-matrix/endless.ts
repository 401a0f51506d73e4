// A run that goes on anew: with a task and a child that it leaves behind, steps whose keys are of their part, and a signal that comes a part early.
import { sendSignal } from "../../shared/engine/speak-to-task.ts";
import { agent, role, workflow } from "../support/agents.ts";
import { AGENT, charge, firstText, never, type Scenario } from "./world.ts";

export const ENDLESS: readonly Scenario[] = [
  {
    name: "a run that goes on anew, and leaves a task and a child behind",
    input: "x",
    output: ["paid", "step of x", "step of more", "heard"],
    status: "completed",
    keyedEffects: 3,
    agent: (world) =>
      agent(
        AGENT,
        [role("r"), role("payer", { tools: [charge(world)] })],
        workflow(async (ctx) => {
          const { n, said } = (ctx.input === "x" ? { n: "x", said: [] } : ctx.input) as { n: string; said: string[] };
          if (n === "x") await ctx.waitFor("begin");
          const step = () =>
            ctx.step("s", async ({ idempotencyKey }) => {
              const does = world.byKey.get(idempotencyKey) ?? `step of ${n}`;
              world.byKey.set(idempotencyKey, does);
              return does;
            });
          if (n !== "x") return [...said, await step(), await ctx.waitFor<string>("news")];
          void ctx.ask("r", "left");
          void ctx.run("left", null);
          const paid = await ctx.ask<string>("payer", "pay");
          return await ctx.continueAsNew({ n: "more", said: [paid, await step()] });
        }),
        { left: workflow(async (ctx) => await ctx.waitFor("nothing")) },
      ),
    respond: (request) => {
      if (firstText(request) === "left") return never();
      return request.messages.length === 1 ? { tools: [{ name: "charge", args: { sum: 3 } }] } : "paid";
    },
    people: async (deps, runId) => {
      for (const [signal, value] of [
        ["news", "heard"], // a part early
        ["begin", null],
      ] as const)
        await sendSignal(deps, { agent: AGENT, runId, signal, value, idempotencyKey: signal });
    },
  },
];
