// Every page, for everybody: axe in both colour schemes, and nothing that sticks out on a phone.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { axe, openSite, type Site } from "./support.ts";

let site: Site;
let places: Readonly<Record<string, string>>;
beforeAll(async () => {
  site = await openSite();
  const done = await site.start("research_crew", "What is a WAL?");
  const waits = await site.start("approval", "Please refund order A-1002, 120 euros");
  const talks = await site.start("assistant", "What is 12 * 7?");
  await site.become(done, "completed");
  await site.become(waits, "waitingApproval");
  await site.become(talks, "awaitingInput");
  await seed();
  places = {
    overview: "#/",
    runs: "#/runs",
    "a run": `#/runs/${done}`,
    "a run that waits": `#/runs/${waits}`,
    approvals: "#/approvals",
    chats: "#/chat",
    "a conversation": `#/chat/${talks}`,
    start: "#/start",
    schedules: "#/schedules",
    "dead letters": "#/dead-letters",
    agents: "#/agents",
    keys: "#/keys",
    "no such page": "#/nowhere",
    "no such run": "#/runs/01980f2e-7c1a-4d5b-9e3f-000000000001",
  };
});
afterAll(async () => await site.close());

/** Pages that are empty at first, with something on them. */
async function seed(): Promise<void> {
  const schedule = { name: "every morning", agent: "approval", input: "Where is my order?", cron: "30 7 * * *" };
  for (const body of [schedule, { ...schedule, name: "a long name that goes on and on", enabled: false }])
    await site.ask("schedules", { method: "POST", body: JSON.stringify(body) });
  await site.ask("keys", { method: "POST", body: '{"name":"shop","scopes":["run"],"agents":["approval"]}' });
  const client = new pg.Client({ connectionString: site.bench.databaseUrl });
  await client.connect();
  for (const body of [{ agent: "approval", runId: "01980f2e-0000-4000-8000-000000000000", taskId: "w0t0" }, ["?"]])
    await client.query(
      "INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count) VALUES ($1, 'tasks-short', $2, 5)",
      [`a-long-message-id-${JSON.stringify(body).length}`, JSON.stringify(body)],
    );
  await client.end();
}

describe.each([
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
] as const)("in %s at %i px", (scheme, width) => {
  test("axe finds nothing, and nothing sticks out", async () => {
    const { page, go, close } = await site.visit({ scheme, width, height: 844 });
    for (const [name, hash] of Object.entries(places)) {
      await go(hash);
      await page.waitForLoadState("networkidle");
      expect([name, await axe(page)]).toEqual([name, []]);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect([name, wide]).toEqual([name, width]);
    }
    await close();
  });

  test("nor in a step's details, the list of keys, or a question", async () => {
    const { page, go, close } = await site.visit({ scheme, width, height: 844 });
    await go(places["a run"] as string);
    const step = page.getByRole("treeitem").filter({ hasText: "model s0" }).first();
    await step.click();
    for (const tab of ["Answer", "Request", "Changes", "Event"]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.waitForLoadState("networkidle");
      expect([tab, await axe(page)]).toEqual([tab, []]);
    }
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await go(places["a run that waits"] as string);
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await axe(page)).toEqual([]);
    for (const [hash, opens] of [
      ["#/schedules", "New schedule"],
      ["#/keys", "New key"],
    ] as const) {
      await go(hash);
      await page.getByRole("button", { name: opens }).click();
      await page.getByRole("dialog").waitFor();
      expect([opens, await axe(page)]).toEqual([opens, []]);
      await page.keyboard.press("Escape");
    }
    await go("#/schedules");
    await page.getByRole("button", { name: "Edit" }).first().click();
    await page.getByRole("region", { name: "Next times" }).getByRole("listitem").first().waitFor();
    expect(await axe(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await close();
  });
});

test("signing in is for everybody too", async () => {
  const { page, close } = await site.visit({ stranger: true, width: 390 });
  await page.getByLabel("Key", { exact: true }).waitFor();
  expect(await axe(page)).toEqual([]);
  await close();
});
