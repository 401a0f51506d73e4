// Schedules at the console: one is made, pauses, goes on, is removed; what can't be one is refused in the server's words.
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

test("a schedule is made, pauses, goes on and is removed; one that never fires is refused", async () => {
  const { page, go } = visit;
  await go("#/schedules");
  await page.getByText("No schedule yet").waitFor();
  await page.getByRole("button", { name: "New schedule" }).click();
  await page.getByLabel("Name").fill("every morning");
  await page.getByLabel("Agent").selectOption("approval");
  await page.getByLabel("Input").fill("Where is my order A-1001?");
  await page.getByLabel("Cron").fill("0 0 30 2 *");
  expect(await axe(page)).toEqual([]);
  await page.getByRole("button", { name: "Make it" }).click();
  await page.locator(".toasts .bad-note").waitFor();
  await page.getByLabel("Cron").fill("30 7 * * *");
  await page.getByLabel("Time zone").fill("Europe/Berlin");
  await page.getByRole("button", { name: "Make it" }).click();
  const row = page.locator("tbody tr").first();
  await row.getByText("every morning").waitFor();
  expect(await row.innerText()).toContain("Europe/Berlin");
  expect(await axe(page)).toEqual([]);
  await row.getByRole("button", { name: "Pause" }).click();
  await row.getByText("paused").waitFor();
  await row.getByRole("button", { name: "Resume" }).click();
  await row.getByRole("button", { name: "Pause" }).waitFor();
  await editsInPlace();
  await row.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No schedule yet").waitFor();
});

/** Below its row it says when it fires next, and so it does of what it was changed to. */
async function editsInPlace(): Promise<void> {
  const { page } = visit;
  const row = page.locator("tbody tr").first();
  await row.getByRole("button", { name: "Edit" }).click();
  const times = page.getByRole("region", { name: "Next times" }).getByRole("listitem");
  await times.nth(4).waitFor();
  expect(await times.first().innerText()).toMatch(/7:30/);
  expect(await axe(page)).toEqual([]);
  expect(await page.getByLabel("Agent").count()).toBe(0);
  await page.getByLabel("Cron").fill("nonsense");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".toasts .bad-note").waitFor();
  await page.getByLabel("Name").fill("every evening");
  await page.getByLabel("Cron").fill("15 19 * * *");
  await page.getByRole("button", { name: "Save" }).click();
  await row.getByText("every evening").waitFor();
  await times.first().getByText(/19:15/).waitFor();
  const { schedules } = await site.ask<{ schedules: { cron: string; input: string }[] }>("schedules");
  expect(schedules).toMatchObject([{ cron: "15 19 * * *", input: "Where is my order A-1001?" }]);
  await row.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
}
