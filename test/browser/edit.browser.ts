// An edit of a prompt while a run waits: what was cut, what was used again, and what the edit changed, as the console shows it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openSite, type Site, type Visit } from "./support.ts";

let site: Site;
let visit: Visit;
beforeAll(async () => {
  site = await openSite();
  visit = await site.visit();
});
afterAll(async () => {
  await visit.close();
  await site.close();
});

const NEW_LINE = "Thank the customer for their patience.";

test("I6: an edit of the prompt shows as a cut, the step before struck out, and its line as added", async () => {
  const { page, go, complaints } = visit;
  const runId = await site.start("approval", "Please refund order A-1002, 120 euros");
  await site.become(runId, "waitingApproval");
  await go(`#/runs/${runId}`);
  await page.getByRole("treeitem").filter({ hasText: "refund_order needs approval" }).waitFor();

  const prompt = join("agents", "approval", "prompts", "desk.md");
  const before = await readFile(join(site.bench.folder, prompt), "utf8");
  await site.bench.write(prompt, `${before.trimEnd()}\n${NEW_LINE}\n`);
  await generation(2);
  await page.getByRole("button", { name: "Approve" }).click();
  await site.become(runId, "completed");

  const lines = page.getByRole("treeitem");
  await lines.filter({ hasText: "system changed" }).waitFor();
  const cut = lines.filter({ hasText: "model s0" }).first();
  expect(await cut.innerText()).toContain("(cut)");
  await lines.filter({ hasText: "model s0" }).nth(1).click();
  await page.getByRole("tab", { name: "Changes" }).click();
  const changes = page.getByRole("region", { name: "Changes of System prompt" });
  await changes.waitFor();
  const added = await changes.locator(".added").allInnerTexts();
  expect(added.join("\n")).toContain(NEW_LINE);
  expect(await page.locator(".diff").allInnerTexts()).toHaveLength(1);
  expect(complaints).toEqual([]);
});

async function generation(wanted: number): Promise<void> {
  for (const end = Date.now() + 20_000; ; await new Promise((r) => setTimeout(r, 100))) {
    const { agents } = await site.ask<{ agents: { name: string; generation: number }[] }>("agents");
    if (agents.find((a) => a.name === "approval")?.generation === wanted) return;
    if (Date.now() > end) throw new Error(`generation ${wanted} didn't come: ${JSON.stringify(agents)}`);
  }
}
