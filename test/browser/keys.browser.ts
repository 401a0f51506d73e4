// Keys at the console: one is made, shown once, does what it may and no more, and is revoked; the audit says who.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { axe, openSite, type Site, type Visit } from "./support.ts";

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

test("a key for looking only sees runs, can't decide, and is gone when it is revoked", async () => {
  const { page, go, complaints } = visit;
  const runId = await site.start("approval", "Please refund order A-1002, 120 euros");
  await site.become(runId, "waitingApproval");
  await go("#/keys");
  await page.getByText("No key was made yet").waitFor();
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("Name").fill("a reader");
  expect(await axe(page)).toEqual([]);
  await page.getByRole("button", { name: "Make it" }).click();
  const key = await page.getByRole("dialog").locator("code").innerText();
  expect(key).toMatch(/^toren_\w{38}$/);
  await page.getByRole("button", { name: "I have it" }).click();
  await page.getByRole("cell", { name: /a reader/ }).waitFor();
  await page.getByText("key.created").waitFor();
  expect(await axe(page)).toEqual([]);

  const reader = await site.visit({ stranger: true });
  await reader.page.getByLabel("Key", { exact: true }).fill(key);
  await reader.page.keyboard.press("Enter");
  await reader.page.getByRole("heading", { name: "Overview" }).waitFor();
  await reader.go("#/approvals");
  await reader.page.getByRole("button", { name: "Approve" }).click();
  await reader.page
    .locator(".toasts")
    .getByText(/scope|approve/)
    .first()
    .waitFor();
  expect((await site.ask<{ status: string }>(`runs/${runId}`)).status).toBe("waitingApproval");
  await reader.go("#/keys");
  await reader.page.getByRole("alert").first().waitFor();
  expect(await reader.page.getByRole("button", { name: "Revoke" }).count()).toBe(0);

  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("revoked", { exact: true }).waitFor();
  await reader.page.getByRole("heading", { name: "Sign in with an API key" }).waitFor({ timeout: 20_000 });
  await reader.close();
  expect(complaints).toEqual([]);
});
