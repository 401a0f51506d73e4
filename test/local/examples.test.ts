// The examples as they are, with the rule-based model server: refunds that wait for a person, a conversation.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startModelServer } from "../../local/model-server/server.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { DEMO_MODEL } from "../../shared/adapters/model/table.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { type Bench, createBench } from "./harness.ts";

let bench: Bench;
let models: Awaited<ReturnType<typeof startModelServer>>;
let refunds: string;
beforeAll(async () => {
  bench = await createBench();
  refunds = join(bench.folder, "refunds");
  process.env.REFUNDS_FOLDER = refunds;
  models = await startModelServer({ port: 0, minLatencyMs: 0, maxLatencyMs: 0 });
  await bench.serve(
    createScriptedModel(() => "unused"),
    {
      agentsFolder: join(import.meta.dirname, "../../agents"),
      model: `openai/${DEMO_MODEL}`,
      env: { OPENAI_BASE_URL: models.url, OPENAI_API_KEY: "demo" },
    },
  );
});
afterAll(async () => {
  delete process.env.REFUNDS_FOLDER;
  await bench.close();
  await models.close();
});

const made = async (order: string): Promise<number> =>
  (await readdir(join(refunds, order)).catch(() => [])).filter((name) => name.endsWith(".json")).length;

test("approval: a small refund goes through by itself, a large one waits, and is made once when it is allowed", async () => {
  const small = await bench.json(["run", "approval", "Please refund 19.90 of order A-1001, the lamp is scratched"]);
  expect(small).toMatchObject({ status: 0, value: { output: expect.stringContaining('"refunded":"19.90"') } });
  expect(await made("A-1001")).toBe(1);

  const written = { out: "", err: "" };
  const large = bench.toren(["run", "approval", "Please refund order A-1002, 120 euros"], { written });
  while (!written.err.includes("toren jobs approve")) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(written.err).toMatch(/refund_order waits for approval[\s\S]*amount +120\n +orderId +A-1002/);
  expect(await made("A-1002")).toBe(0);
  const { value } = await bench.json(["jobs", "list", "--status", "waitingApproval"]);
  await bench.json(["jobs", "approve", (value as { runs: RunJson[] }).runs[0]?.runId ?? ""]);
  expect(await large).toMatchObject({ status: 0, out: expect.stringContaining('"refunded":"120.00"') });
  expect(await made("A-1002")).toBe(1);
});

test("approval: a refund that is denied isn't made, and one of more than was paid fails in words", async () => {
  const input = "Please refund order A-1003, 99 euros";
  for (const decision of ["deny", "approve"]) {
    const written = { out: "", err: "" };
    const running = bench.toren(["run", "approval", input], { written });
    while (!written.err.includes("toren jobs approve")) await new Promise((resolve) => setTimeout(resolve, 50));
    await bench.json(["jobs", decision, /jobs approve (\w+)/.exec(written.err)?.[1] ?? ""]);
    expect((await running).out).toContain(decision === "deny" ? "ann did not allow" : "only 12.50 is left to refund");
  }
  expect(await made("A-1003")).toBe(0);
  await rm(refunds, { recursive: true });
});

test("assistant: it remembers, calculates, and ends when its input does", async () => {
  const input = "Hello, my dog is called Rex.\nWhat is 12 * (3 + 4)?\nHow is my dog called?\n";
  const { status, out } = await bench.toren(["chat", "assistant"], { input });
  expect(status).toBe(0);
  expect(out.split("\n").slice(1)).toEqual([
    "calculate answered: 12 * (3 + 4) = 84",
    'You said before: "Hello, my dog is called Rex."',
    "",
  ]);
});
