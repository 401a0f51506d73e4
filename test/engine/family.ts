// Runs that workflows start, for the tests of child runs: one agent with several processes, its run driven as far as it comes, and its children.
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { role, tool, workflow } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, firstText } from "./support.ts";

export type Processes = Readonly<Record<string, WorkflowFn<never>>>;

/** `t`: the test's engine, when it is there. */
export function familyOf(t: () => EngineTest) {
  return {
    family: ({ main, ...rest }: Processes & { main: WorkflowFn<never> }, generation = 1) => {
      const model = createScriptedModel((r) => `re ${firstText(r)}`);
      const processes = Object.fromEntries(Object.entries(rest).map(([name, run]) => [name, workflow(run)]));
      return { model, stack: t().stack([role("r")], workflow(main), { model, processes, generation }) };
    },
    started: async (stack: Stack) => {
      const runId = await stack.start(AGENT, "x");
      return { runId, row: await stack.drive({ agent: AGENT, runId }) };
    },
    children: (runId: string) =>
      t().sql<{ run_id: string; status: string; parent: string; root: string }>(
        `SELECT run_id, status, parent, root FROM agent_${AGENT}.runs WHERE parent = $1 ORDER BY created_at, run_id`,
        [runId],
      ),
  };
}

/** Somebody whose tool pays, which can't be done again unseen; and who was paid. */
export function paying() {
  const paid: string[] = [];
  const tools = [tool("pay", (args) => void paid.push(String((args as { to: string }).to)), { effects: "external" })];
  return { paid, payer: role("payer", { tools }) };
}
