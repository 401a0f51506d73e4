// Large things open as fast as small ones: a task of 2,000 steps, a list of 10,000 runs.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { openSite, type Site, type Visit } from "./support.ts";

const STEPS = 2_000;
const RUNS = 10_000;
const OPEN_MS = 1_000;
/** Others work on the machine too: the best of so many tries counts. */
const TRIES = 4;

const LONG = `name: long
description: Works for a long time.
model: mock/script
system: You look again and again.
tools: [look]
maxSteps: ${STEPS + 10}
`;
const TOOLS = `import { defineTool } from "toren";
import * as z from "zod";
export default defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({ n: z.int() }),
  effects: "none",
  idempotency: "keyed",
  approval: "never",
  handler: ({ n }) => "seen " + n,
});
`;

let site: Site;
let visit: Visit;
beforeAll(async () => {
  let asked = 0;
  const model = createScriptedModel(() =>
    ++asked < STEPS ? { tools: [{ name: "look", args: { n: asked } }] } : "done",
  );
  Object.assign(model.ledger, { push: () => 0 }); // a ledger of 2,000 growing questions would fill the memory
  site = await openSite({ model, files: { "agents/long/agent.yaml": LONG, "agents/long/tools.ts": TOOLS } });
  visit = await site.visit();
}, 60_000);
afterAll(async () => {
  await visit.close();
  await site.close();
});

/** Milliseconds from the click until it is there, in the page's own time. */
async function opened(hash: string, selector: string): Promise<number> {
  const { page, go } = visit;
  const times: number[] = [];
  for (let n = 0; n < TRIES; n++) {
    await go("#/agents");
    await page.reload(); // nothing is remembered from the try before
    await page.getByRole("heading", { name: "Agents" }).waitFor();
    const ms = await page.evaluate(
      ([to = "", wanted = ""]) =>
        new Promise<number>((resolve) => {
          const began = performance.now();
          location.hash = to;
          const look = (): void =>
            void (document.querySelector(wanted) === null
              ? requestAnimationFrame(look)
              : resolve(performance.now() - began));
          look();
        }),
      [hash, selector],
    );
    times.push(ms);
  }
  return Math.min(...times);
}

test(`a run of ${STEPS} steps opens within a second, and its last line is a key away`, async () => {
  const { page } = visit;
  const runId = await site.start("long", "look");
  for (;;) {
    const run = await site.ask<{ status: string; error: unknown }>(`runs/${runId}`);
    if (run.status === "completed") break;
    if (run.status === "failed") throw new Error(JSON.stringify(run.error));
    await new Promise((r) => setTimeout(r, 500));
  }
  const ms = await opened(`#/runs/${runId}`, "#line-10");
  console.log(`${STEPS} steps: ${Math.round(ms)} ms`);
  expect(ms).toBeLessThan(OPEN_MS);
  expect(await page.locator(".line").count()).toBeLessThan(100);
  await page.keyboard.press("k");
  await page.getByRole("treeitem").filter({ hasText: "run completed" }).waitFor();
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page
    .getByRole("treeitem")
    .filter({ hasText: `model s${STEPS - 1}` })
    .waitFor();
  expect(visit.complaints).toEqual([]);
}, 240_000);

test(`a list of ${RUNS} runs opens within a second, and so does its next page`, async () => {
  const { page } = visit;
  const client = new pg.Client({ connectionString: site.bench.databaseUrl });
  await client.connect();
  await client.query(
    `WITH made AS (
       INSERT INTO agent_long.runs (run_id, process, input, generation, code_hash, request_digest, ended, ended_at, created_at)
       SELECT gen_random_uuid(), 'main', '"x"', 1, 'h', 'd' || n, 'completed', clock_timestamp(), clock_timestamp() - n * interval '1 s'
       FROM generate_series(1, ${RUNS}) n RETURNING run_id)
     INSERT INTO toren_control.run_index (run_id, agent) SELECT run_id, 'long' FROM made`,
  );
  await client.end();
  const ms = await opened("#/runs?agent=long", "tbody tr:nth-child(50)");
  console.log(`${RUNS} runs: ${Math.round(ms)} ms`);
  expect(ms).toBeLessThan(OPEN_MS);
  const first = await page.locator("tbody a").first().getAttribute("href");
  await page.getByRole("link", { name: "Older" }).click();
  await page.waitForFunction(
    (before) =>
      document.querySelector("tbody a")?.getAttribute("href") !== before && document.querySelector("tbody a") !== null,
    first,
  );
  expect(await page.locator("tbody tr").count()).toBe(50);
});
