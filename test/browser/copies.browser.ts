// Going on after a failure, copies of a run, signals, and dead letters, at the console.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { axe, openSite, type Site, type Visit } from "./support.ts";

const WAITS = `name: waits
description: Waits for a payment.
roles:
  clerk: { model: mock/script, system: You book. }
`;
const MAIN = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  const paid = await ctx.waitFor("paid");
  return await ctx.ask("clerk", paid);
});
`;

let site: Site;
let visit: Visit;
let broken = true;
beforeAll(async () => {
  const model = createScriptedModel(() => (broken ? { status: 401 } : "booked"));
  site = await openSite({ model, files: { "agents/waits/agent.yaml": WAITS, "agents/waits/workflows/main.ts": MAIN } });
  visit = await site.visit();
});
afterAll(async () => {
  await visit.close();
  await site.close();
});

describe("somebody at the console", () => {
  test("sends a signal, reads why the run failed, and has it go on", async () => {
    const { page, go, complaints } = visit;
    const runId = await site.start("waits", "x");
    await go(`#/runs/${runId}`);
    await page.getByLabel("Value of paid").fill('{"cents": 4200}');
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Send" }).click();
    await site.become(runId, "failed");
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page
      .getByText(/model\.auth/)
      .first()
      .waitFor();
    broken = false;
    await page.getByRole("button", { name: "Retry" }).click();
    const run = await site.become(runId, "completed");
    expect(run.output).toBe("booked");
    await page.locator("h1").getByText("Completed").waitFor();
    expect(complaints).toEqual([]);
  });

  test("forks a run from a task on, and takes everything on record of it home", async () => {
    const { page, go } = visit;
    const source = await site.start("echo", "hello");
    await site.become(source, "completed");
    await go(`#/runs/${source}`);
    await page.getByRole("treeitem").first().click();
    await page.getByRole("region", { name: "Selected step" }).getByRole("button", { name: "Fork from here" }).click();
    await page.getByText("forked from").waitFor();
    expect(page.url()).not.toContain(source);
    const fork = /runs\/([\w-]+)/.exec(page.url().split("#")[1] ?? "")?.[1] ?? "";
    expect(await site.become(fork, "completed")).toMatchObject({ forkedFrom: source, output: "booked" });

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${fork}.jsonl`);
    const lines = (await readFile(await download.path(), "utf8")).trimEnd().split("\n");
    const tables = new Set(lines.map((line) => (JSON.parse(line) as { table: string }).table));
    expect(tables.has("events") && tables.has("request_headers")).toBe(true);
  });

  test("looks at dead letters, sends one again, and drops one", async () => {
    const { page, go, complaints } = visit;
    const runId = await site.start("echo", "hello");
    const client = new pg.Client({ connectionString: site.bench.databaseUrl });
    await client.connect();
    for (const id of ["letter 1/2", "letter 2"])
      await client.query(
        "INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count) VALUES ($1, 'ticks', $2, 5)",
        [id, JSON.stringify({ agent: "echo", runId, taskId: null })],
      );
    await client.end();
    await go("#/dead-letters");
    await page.locator("tbody tr").nth(1).waitFor();
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Send again" }).first().click();
    await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Drop" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drop" }).click();
    await page.getByText("No dead letters").waitFor();
    expect(complaints).toEqual([]);
  });
});
