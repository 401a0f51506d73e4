// What people decide at the console beside calls: an edit that would repeat an effect (I6b), and what becomes of runs that failed together.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { axe, openSite, type Site, type Visit } from "./support.ts";

const BANK = `name: bank
description: Wires, then pays.
model: mock/script
system: You wire.
tools: [wire, pay]
`;
const TOOLS = `import { defineTool } from "toren";
import { appendFileSync } from "node:fs";
import * as z from "zod";
const input = z.object({ to: z.string() });
export const wireTool = defineTool({
  name: "wire", description: "Wires.", input, effects: "external", idempotency: "none", approval: "never",
  handler: ({ to }) => { appendFileSync(process.env.BANK_BOOK, to + "\\n"); return "wired"; },
});
export const payTool = defineTool({
  name: "pay", description: "Pays.", input, effects: "external", idempotency: "keyed", approval: () => true, handler: () => "paid",
});
`;

let site: Site;
let visit: Visit;
let broken = true;
beforeAll(async () => {
  const model = createScriptedModel((request) => {
    if (JSON.stringify(request.messages[0]).includes("fails")) return broken ? { refusal: true } : "well again";
    const results = request.messages.flatMap((message) =>
      message.role === "user" ? message.content.filter((part) => part.type === "toolResult") : [],
    );
    if (results.length === 0) return { tools: [{ name: "wire", args: { to: "ann" } }] };
    if (results.length === 1) return { tools: [{ name: "pay", args: { to: "bob" } }] };
    return "all done";
  });
  site = await openSite({ model, files: { "agents/bank/agent.yaml": BANK, "agents/bank/tools.ts": TOOLS } });
  process.env.BANK_BOOK = join(site.bench.folder, "book.txt");
  visit = await site.visit();
});
afterAll(async () => {
  delete process.env.BANK_BOOK;
  await visit.close();
  await site.close();
});

const book = async (): Promise<number> =>
  (await readFile(process.env.BANK_BOOK ?? "", "utf8")).trimEnd().split("\n").length;

/** Two runs that have wired and wait for a yes, then an edit of what they are told, then the yes. */
async function twoThatAsk(): Promise<RunJson[]> {
  const ids = [await site.start("bank", "one"), await site.start("bank", "two")];
  for (const id of ids) await site.become(id, "waitingApproval");
  await site.bench.write("agents/bank/agent.yaml", BANK.replace("You wire.", "You wire, politely."));
  for (;;) {
    const { agents } = await site.ask<{ agents: { name: string; generation: number }[] }>("agents");
    if (agents.find(({ name }) => name === "bank")?.generation === 2) break;
    await new Promise((r) => setTimeout(r, 50));
  }
  for (const id of ids) await site.ask(`runs/${id}/approvals`, { method: "POST", body: '{"granted":true}' });
  return await Promise.all(ids.map((id) => site.become(id, "waitingCut")));
}

test("I6b: an edit that would wire again is kept from doing so, or made, where all that waits stands", async () => {
  const { page, go, complaints } = visit;
  const [kept, rerun] = await twoThatAsk();
  expect(await book()).toBe(2);
  await go("#/approvals");
  const panel = (run: RunJson | undefined) => page.locator(".panel").filter({ hasText: run?.runId.slice(0, 8) ?? "?" });
  await panel(kept).getByText("An edit would repeat").waitFor(); // the page may have been read before the edit
  const asked = await panel(kept).innerText();
  for (const words of ["system changed", "wire", "model answer"]) expect(asked).toContain(words);
  expect(await axe(page)).toEqual([]);
  await panel(kept).getByRole("button", { name: "Keep what is recorded" }).click();
  expect(await site.become(kept?.runId ?? "", "completed")).toMatchObject({ output: "all done" });
  expect(await book()).toBe(2);
  await panel(kept).waitFor({ state: "detached" });

  await go(`#/runs/${rerun?.runId}`);
  await page.getByText("An edit would repeat").waitFor();
  await page.getByRole("button", { name: "Run it again" }).click();
  expect(await page.getByRole("dialog").innerText()).toContain("may be paid again");
  expect(await axe(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Run it again" }).click();
  await site.become(rerun?.runId ?? "", "completed"); // it has wired again; what was allowed still is
  expect(await book()).toBe(3);
  expect(complaints).toEqual([]);
});

test("runs that failed together go on together; those that haven't failed are left alone", async () => {
  const { page, go, complaints } = visit;
  const failed = [await site.start("echo", "fails 1"), await site.start("echo", "fails 2")];
  for (const id of failed) await site.become(id, "failed");
  await go("#/runs?agent=echo");
  await page.locator("tbody tr").nth(1).waitFor();
  await page.getByLabel("Mark all").check();
  expect(await page.locator(".bulk").innerText()).toContain("2 marked");
  expect(await page.locator(".bulk").getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
  broken = false;
  await page.locator(".bulk").getByRole("button", { name: "Retry" }).click();
  const question = page.getByRole("dialog");
  expect(await question.innerText()).toContain("2 of them failed");
  expect(await axe(page)).toEqual([]);
  await question.getByRole("button", { name: "Retry" }).click();
  await page.getByText("2 go on.").waitFor();
  for (const id of failed)
    expect(await site.become(id, "completed")).toMatchObject({ retries: 1, output: "well again" });
  await page.getByText("Completed").nth(1).waitFor();
  await page.getByLabel("Mark all").check();
  expect(await page.locator(".bulk").getByRole("button", { name: "Retry" }).isDisabled()).toBe(true);
  expect(complaints).toEqual([]);
});
