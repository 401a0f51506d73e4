// toren plan: what it says before an edit is deployed is what happens after.
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { RunningServer } from "../../local/server.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { EditPlan } from "../../shared/engine/plan-edit.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench } from "./harness.ts";

const BANK = `name: bank
description: Wires, then waits to pay.
roles:
  main: { model: mock/script, system: You wire., tools: [wire, look, pay] }
`;
const TOOLS = `import { defineTool } from "toren";
import * as z from "zod";
const input = z.object({});
export const wireTool = defineTool({ name: "wire", description: "Wires.", input, effects: "external", idempotency: "none", approval: "never", handler: () => "wired" });
export const lookTool = defineTool({ name: "look", description: "Looks.", input, effects: "none", idempotency: "none", approval: "never", handler: () => "${"wide ".repeat(80_000)}" });
export const payTool = defineTool({ name: "pay", description: "Pays.", input, effects: "external", idempotency: "keyed", approval: "always", handler: () => "paid" });
`;
const FLOW = `name: flow
description: Two questions, then a signal.
roles:
  r: { model: mock/script, system: You answer. }
`;
const MAIN = (first: string, second: string): string => `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  const { results } = await ctx.wave("both", [ctx.task("r", "${first}"), ctx.task("r", "${second}")]);
  return [results.length, await ctx.waitFor("go")];
});
`;

let bench: Bench;
let server: RunningServer;
beforeAll(async () => {
  bench = await createBench();
  await bench.write("agents/bank/agent.yaml", BANK);
  await bench.write("agents/bank/tools.ts", TOOLS);
  await bench.write("agents/flow/agent.yaml", FLOW);
  await bench.write("agents/flow/workflows/main.ts", MAIN("one", "two"));
  const model = createScriptedModel((request) => {
    const said = JSON.stringify(request.messages[0]);
    if (request.messages.length > 4) return "paid";
    const tools = (name: string) => ({ tools: [{ name, args: {} }] });
    if (said.includes("wires")) return request.messages.length === 1 ? tools("wire") : tools("pay");
    if (said.includes("looks")) return request.messages.length === 1 ? tools("look") : tools("pay");
    return "said";
  });
  server = await bench.serve(model, { onAgentChange: () => {} });
  // A copy of the folder, as somebody edits it before it is deployed.
  await mkdir(join(bench.folder, "edited"));
  await cp(join(bench.folder, "agents"), join(bench.folder, "edited"), { recursive: true });
});
afterAll(() => bench.close());

async function started(agent: string, input: string, status: RunJson["status"]): Promise<string> {
  const { value } = await bench.json(["run", agent, input, "--detach"]);
  const { runId } = value as { runId: string };
  await become(runId, status);
  return runId;
}
/** With so many answers on record, the cut ones among them. */
async function become(runId: string, status: RunJson["status"], answers = 0): Promise<void> {
  for (const end = Date.now() + 20_000; ; await sleep(25)) {
    const run = (await bench.json(["jobs", "show", runId])).value as RunJson;
    if (run.status === status && run.modelCalls >= answers) return;
    if (Date.now() > end) throw new Error(`${runId} is ${run.status} after ${run.modelCalls} answers, not ${status}`);
  }
}
const planned = async (...args: string[]): Promise<readonly (EditPlan & { readonly runId: string })[]> => {
  const { status, value } = await bench.json(["plan", "--agents", "edited", ...args]);
  expect([args, status, status === 0 ? "" : value]).toEqual([args, 0, ""]);
  return (value as { runs: [] }).runs;
};

test("code that is the same touches nothing; a prompt, a workflow and a role that is gone do, and it says how", async () => {
  const wires = await started("bank", "wires", "waitingApproval");
  const looks = await started("bank", "looks", "waitingApproval"); // its result lies in the blobs
  const flow = await started("flow", "x", "waitingSignal");
  const all = await planned();
  expect(all.map((run) => run.runId).sort()).toEqual([wires, looks, flow].sort());
  for (const { cuts, fails } of all) expect([cuts, fails]).toEqual([[], null]);

  await bench.write("edited/bank/agent.yaml", BANK.replace("You wire.", "You wire politely."));
  await bench.write("edited/flow/workflows/main.ts", MAIN("one", "three"));
  const of = (runs: readonly (EditPlan & { readonly runId: string })[], id: string): EditPlan | undefined =>
    runs.find((run) => run.runId === id);
  const after = await planned();
  const price = { modelCalls: 2, usd: expect.any(Number), simulated: true };
  const reason = "system changed, seen at step s0";
  expect(of(after, wires)).toMatchObject({ cuts: [{ stream: "w0t0", reason, calls: ["wire"], price }], fails: null });
  expect(of(after, looks)).toMatchObject({ cuts: [{ stream: "w0t0", reason, calls: [], price }] });
  expect(of(after, flow)).toMatchObject({
    cuts: [{ stream: "run", calls: [], price: { modelCalls: 1 } }],
    kept: 1,
    anew: 1,
    fails: null,
  });
  const { out, err } = await bench.toren(["plan", wires.slice(0, 8), "--agents", "edited"]);
  expect(out).toMatch(
    /bank .*would ask a person.*waitingApproval\n.*w0t0: system changed.*\n.*2 model calls paid again.*\n.*done again: wire\n/,
  );
  expect(err).toBe("1 run of 1 would be touched. Nothing was changed.\n");

  // What it foretold comes: deployed, and woken by the yes, one asks a person and the other one goes on.
  await bench.write("agents/bank/agent.yaml", BANK.replace("You wire.", "You wire politely."));
  while (server.laptop.agents.get("bank")?.generation !== 2) await sleep(25);

  for (const id of [wires, looks]) await bench.toren(["jobs", "approve", id]);
  await become(wires, "waitingCut");
  await become(looks, "completed", 5); // it has asked anew what was answered twice before; the yes still holds
});

test("a role or a process that is gone, code that is broken, and names that don't exist", async () => {
  const flow = await started("flow", "x", "waitingSignal");
  await bench.write("edited/flow/workflows/main.ts", MAIN("one", "two").replaceAll('"r"', '"gone"'));
  const [gone] = await planned(flow, "--agent", "flow");
  expect(gone).toMatchObject({ cuts: [{ stream: "run" }], anew: 2, kept: 0 });
  await bench.write("edited/flow/workflows/main.ts", "export default 1;\n");
  expect(await bench.json(["plan", "--agents", "edited"])).toMatchObject({
    status: 2,
    value: { error: { code: "agent.invalid" } },
  });
  expect((await bench.toren(["plan", "--agents", "agents", "--agent", "flwo"])).err).toContain('Did you mean "flow"?');
});
