// What people do at the console, from starting a run to reading what came of it.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openSite, type Site, type Visit } from "./support.ts";

let site: Site;
let visit: Visit;
beforeAll(async () => {
  site = await openSite({ latencyMs: 50 });
  visit = await site.visit();
});
afterAll(async () => {
  await visit.close();
  await site.close();
});

describe("somebody at the console", () => {
  test("starts a run with a file, watches it, and reads a request as it went out", async () => {
    const { page, go, complaints } = visit;
    await page.getByRole("link", { name: "Start a run" }).first().click();
    await page.getByLabel("Agent").selectOption("research_crew");
    await page.getByLabel("Input").fill("What does SKIP LOCKED do?");
    await page.getByLabel("Files").setInputFiles({
      name: "select.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("With SKIP LOCKED, any selected rows that cannot be immediately locked are skipped.\n"),
    });
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("tree", { name: "Timeline of the run" }).waitFor();
    await page.getByText("run completed").waitFor({ timeout: 40_000 });
    await page.locator("h1").getByText("Completed").waitFor();
    const steps = page.getByRole("treeitem").filter({ hasText: "model s0" });
    await steps.first().click();
    await page.getByRole("tab", { name: "Request" }).click();
    await page.getByText("Exactly what was sent").waitFor();
    const beside = page.getByRole("region", { name: "Selected step" });
    expect(await beside.innerText()).toContain("SKIP LOCKED");
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Input and output" }).waitFor();
    await go("#/runs");
    expect(complaints).toEqual([]);
  });

  test("approves a call with a comment, where all that waits stands", async () => {
    const { page, go } = visit;
    const runId = await site.start("approval", "Please refund order A-1002, 120 euros");
    await site.become(runId, "waitingApproval");
    await go("#/approvals");
    await page.getByText("refund_order").waitFor();
    expect(await page.locator(".args").innerText()).toMatch(/amount\s+120\s+orderId\s+A-1002/);
    await page.getByLabel("Comment").fill("the customer is right");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Nothing waits for you").waitFor();
    const run = await site.become(runId, "completed");
    expect(run.approvals[0]?.decided).toMatchObject({ granted: true, comment: "the customer is right", by: "dev key" });
    expect(run.output).toContain('"refunded":"120.00"');
  });

  test("denies one in its run, and the model reads why", async () => {
    const { page, go } = visit;
    const runId = await site.start("approval", "Please refund order A-1003, 99 euros");
    await site.become(runId, "waitingApproval");
    await go(`#/runs/${runId}`);
    await page.getByLabel("Comment").fill("too much");
    await page.getByRole("button", { name: "Deny" }).click();
    const run = await site.become(runId, "completed");
    expect(JSON.stringify(run.output)).toContain("too much");
    await page.getByRole("treeitem").filter({ hasText: "denied" }).waitFor();
  });

  test("talks with an agent", async () => {
    const { page, go } = visit;
    await go("#/chat");
    await page.getByRole("link", { name: "Talk to assistant" }).click();
    await page.getByLabel("First message").fill("What is 12 * 7?");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("12 * 7 = 84").waitFor();
    await page.getByLabel("Message").fill("And 84 / 2?");
    await page.keyboard.press("Enter");
    await page.getByText("84 / 2 = 42").waitFor();
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
    await page.getByText("The conversation has ended.").waitFor();
  });

  test("finds runs by words, by status, and by keys alone", async () => {
    const { page } = visit;
    await page.getByRole("heading", { level: 1 }).first().click();
    await page.keyboard.press("r");
    await page.locator("tbody tr").nth(1).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("A-1003 ");
    await page.waitForURL(/text=A-1003$/);
    await page.keyboard.type("refund");
    await page.waitForURL(/refund/);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("tree").waitFor();
    await page.goBack();
    await page.getByLabel("Search").fill("no such words anywhere");
    await page.getByText("No run is like that").waitFor();
    await page.getByRole("link", { name: "Show all runs" }).click();
    await page.getByLabel("Status").selectOption("Completed");
    await page.waitForFunction(() => {
      const shown = [...document.querySelectorAll("tbody .badge")].map((badge) => badge.textContent);
      return shown.length > 0 && shown.every((word) => word === "Completed");
    });
  });

  test("hears who is quicker than its first picture", async () => {
    const { page } = visit;
    await page.evaluate(() => {
      location.hash = "#/";
    });
    await page.addInitScript(() => {
      let begun = false;
      new MutationObserver(() => {
        if (begun || document.querySelector("#main") === null) return;
        begun = true;
        location.hash = "#/agents";
      }).observe(document, { childList: true, subtree: true });
    });
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  });

  test("cancels a run, and several at once", async () => {
    const { page, go } = visit;
    const runs = await Promise.all(
      [1, 2, 3].map((n) => site.start("approval", `Please refund order A-1002, 12${n} euros`)),
    );
    for (const runId of runs) await site.become(runId, "waitingApproval");
    await go(`#/runs/${runs[0]}`);
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the run" }).click();
    await site.become(runs[0] as string, "cancelled");
    await go("#/runs?status=waitingApproval");
    await page.getByLabel("Mark all").check();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    for (const runId of runs) await site.become(runId, "cancelled");
    await page.getByText("No run is like that").waitFor();
    expect(visit.complaints).toEqual([]);
  });
});
