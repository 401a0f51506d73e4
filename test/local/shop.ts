// Two agents that wait: a desk whose one tool must be approved, and a shop whose workflow waits for a signal.
import type { Bench } from "./harness.ts";

const PAY = `import { defineTool } from "toren";
import * as z from "zod";
const input = z.object({ cents: z.int() });
export const payTool = defineTool({ name: "pay", description: "Pays.", input, effects: "external", idempotency: "keyed", approval: "always", handler: () => "paid" });
`;
const desk = (mode: "task" | "session"): string => `name: desk
description: Pays.
mode: ${mode}
roles:
  main: { model: mock/script, system: You pay., tools: [pay] }
`;
const SHOP = `name: shop
description: Sells.
roles:
  clerk: { model: mock/script, system: You sell. }
`;
const WAITS = `import { defineWorkflow } from "toren";
export default defineWorkflow((ctx) => ctx.waitFor("paid"));
`;

export async function writeDeskAndShop(bench: Bench, mode: "task" | "session"): Promise<void> {
  await bench.write("agents/desk/agent.yaml", desk(mode));
  await bench.write("agents/desk/tools.ts", PAY);
  await bench.write("agents/shop/agent.yaml", SHOP);
  await bench.write("agents/shop/workflows/main.ts", WAITS);
}
