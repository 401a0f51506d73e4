// A worker as on a laptop, handlers, pump and queue, over a stack's engine: what spans are made of comes with messages.
import { createTaskHandler } from "../../functions/task.ts";
import { createTickHandler } from "../../functions/tick.ts";
import { type Pump, startPump } from "../../local/pump.ts";
import { createScriptedModel, type ScriptedModel } from "../../shared/adapters/model/script.ts";
import type { PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import type { ProcessDefinition, RoleDefinition } from "../../shared/ports/agents.ts";
import type { Log } from "../../shared/ports/log.ts";
import { role, tool, workflow } from "../support/agents.ts";
import { silentLog } from "../support/log.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, until } from "./support.ts";

export function handlersOf(stack: Stack, log: Log = silentLog) {
  const engine = { ...stack.deps, log };
  const stop = new AbortController().signal;
  return { tick: createTickHandler({ engine, stop }), task: createTaskHandler({ engine, stop }) };
}

export function pumpOf(stack: Stack, log: Log = silentLog): Pump {
  const deadLetter = async () => ({ batchItemFailures: [] });
  return startPump({ queue: stack.deps.queue, log, handlers: { ...handlersOf(stack, log), deadLetter } });
}

/** Until the run has ended, and its worker has put everything away. */
export async function ended(stack: Stack, pump: Pump, runId: string): Promise<void> {
  await until(async () => (await stack.deps.store.runs.get(AGENT, runId))?.endedAt != null, 15_000);
  await pump.stop();
  await (stack.deps.queue as PostgresQueue).close(); // it listens, since a pump does
}

/** Two that look something up, between one that plans and one that writes. */
export const CREW: readonly RoleDefinition[] = [
  role("planner"),
  role("digger", { tools: [tool("look", () => "found")] }),
  role("writer"),
];
export const CREW_MAIN: ProcessDefinition = workflow(async (ctx) => {
  await ctx.ask("planner", "plan");
  await ctx.wave("dig", [ctx.task("digger", "a"), ctx.task("digger", "b")]);
  return await ctx.ask<string>("writer", "write");
});
/** Calls the first tool that it has, once, and is done. It answers after `first`. */
export const crewModel = (first: () => Promise<void> = async () => {}): ScriptedModel =>
  createScriptedModel(async ({ tools, messages }) => {
    await first();
    return tools[0] !== undefined && messages.length === 1 ? { tools: [{ name: tools[0].name, args: {} }] } : "done";
  });
