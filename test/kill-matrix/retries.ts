// Runs that fail, and that people have go on: twice, since the first retry comes too early. Whoever asks again changes nothing.
import { setTimeout as wait } from "node:timers/promises";
import type { EngineDeps } from "../../shared/engine/deps.ts";
import { retryRun } from "../../shared/engine/retry-run.ts";
import { agent, role, workflow } from "../support/agents.ts";
import { AGENT, charge, echo, firstText, type Scenario, type World } from "./world.ts";

const MENDED_AFTER = 2;

export async function retry(deps: EngineDeps, runId: string, world: World): Promise<void> {
  const told = await retryRun(deps, { agent: AGENT, runId, by: "ann" });
  if (told.type === "told") world.tries = (await deps.store.runs.get(AGENT, runId))?.retries ?? world.tries;
  else await wait(20); // its tasks are still being stopped
}

const failingWave: Scenario = {
  name: "a wave beside a step, that fails and is retried",
  input: "x",
  output: [["<good>", "<bad>", "done"], "step"],
  status: "completed",
  keyedEffects: 2,
  retried: true,
  agent: (world) =>
    agent(
      AGENT,
      [role("r"), role("payer", { tools: [charge(world)] })],
      workflow(async (ctx) => {
        const both = await Promise.all([
          ctx.wave("w", [ctx.task("r", "good"), ctx.task("r", "bad"), ctx.task("payer", "pay")]),
          ctx.step("keyed", async ({ idempotencyKey }) => {
            world.byKey.set(idempotencyKey, "step");
            return "step";
          }),
        ]);
        return [both[0].results.map((r) => r.output ?? null), both[1]];
      }),
    ),
  respond: (request, world) => {
    const text = firstText(request);
    if (text === "bad" && world.tries < MENDED_AFTER) return { status: 401 };
    if (text !== "pay") return echo(request);
    return request.messages.length === 1 ? { tools: [{ name: "charge", args: { sum: 3 } }] } : "done";
  },
  people: retry,
};

const failingStep: Scenario = {
  name: "a step that fails for good, caught and thrown on, and is retried",
  input: "x",
  output: "<after>",
  status: "completed",
  keyedEffects: 2,
  retried: true,
  agent: (world) =>
    agent(
      AGENT,
      [role("r")],
      workflow(async (ctx) => {
        try {
          await ctx.step(
            "flaky",
            async ({ idempotencyKey }) => {
              if (world.tries < MENDED_AFTER) throw new Error("not yet");
              world.byKey.set(idempotencyKey, "flaky");
            },
            { attempts: 1 },
          );
        } catch (e) {
          await ctx.step("note", async ({ idempotencyKey }) => void world.byKey.set(idempotencyKey, "noted"));
          throw e;
        }
        return await ctx.ask("r", "after");
      }),
    ),
  respond: echo,
  people: retry,
};

export const RETRIES: readonly Scenario[] = [failingWave, failingStep];
