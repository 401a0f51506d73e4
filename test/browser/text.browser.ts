// What models, tools and people wrote is text, wherever it shows: no markup, no script, no character that hides or turns others.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { openSite, type Site, type Visit } from "./support.ts";

const EVIL = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>\u202egnp.exe\u0007</pre>&amp;`;
const TALK = `name: talk
description: ${JSON.stringify(EVIL)}
model: mock/script
system: ${JSON.stringify(`You talk. ${EVIL}`)}
mode: session
tools: [shout]
`;
const TOOLS = `import { defineTool } from "toren";
import * as z from "zod";
export default defineTool({
  name: "shout",
  description: ${JSON.stringify(EVIL)},
  input: z.looseObject({}),
  effects: "external",
  idempotency: "keyed",
  approval: () => true,
  handler: () => ${JSON.stringify(EVIL)},
});
`;

let site: Site;
let visit: Visit;
beforeAll(async () => {
  const model = createScriptedModel((r, n) =>
    n === 0
      ? { tools: [{ name: "shout", args: { [EVIL]: EVIL, nested: { a: EVIL } } }] }
      : `I say ${EVIL} ${r.messages.length}`,
  );
  site = await openSite({ model, files: { "agents/talk/agent.yaml": TALK, "agents/talk/tools.ts": TOOLS } });
  visit = await site.visit();
});
afterAll(async () => {
  await visit.close();
  await site.close();
});

async function harmless(): Promise<void> {
  const { page, complaints } = visit;
  expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
  const text = await page.locator("body").innerText();
  expect(text).toContain("<img src=x onerror=");
  for (const char of ["\u0007", "\u202e"]) expect(text).not.toContain(char);
  expect(await page.title()).not.toContain("taken");
  expect(complaints).toEqual([]);
}

test("on every page where it shows", async () => {
  const { page, go } = visit;
  const runId = await site.start("talk", EVIL);
  await site.become(runId, "waitingApproval");
  await go("#/agents");
  await page.getByRole("heading", { name: "talk" }).waitFor();
  await harmless();
  await go("#/approvals");
  await page.getByText("shout").first().waitFor();
  await harmless();
  await go(`#/chat/${runId}`);
  await page.getByRole("log").waitFor();
  await harmless();
  await page.getByLabel("Comment").fill(EVIL);
  await page.getByRole("button", { name: "Approve" }).click();
  await site.become(runId, "awaitingInput");
  await page.getByText("I say").waitFor();
  await harmless();
  await go(`#/runs/${runId}`);
  for (const name of ["shout", "approved", "model s0", "model s1"]) {
    await page.getByRole("treeitem").filter({ hasText: name }).first().click();
    await page.getByRole("region", { name: "Selected step" }).waitFor();
    await harmless();
  }
  for (const tab of ["Request", "Changes", "Event"]) {
    await page.getByRole("tab", { name: tab }).click();
    await page.getByRole("tabpanel").locator("pre, .diff").first().waitFor();
    await harmless();
  }
});

test("in schedules, keys, dead letters and labels", async () => {
  const { page, go } = visit;
  const name = EVIL.slice(0, 50); // names are short, and hold no control characters
  const post = (path: string, body: unknown) => site.ask(path, { method: "POST", body: JSON.stringify(body) });
  await post("schedules", { name, agent: "talk", input: EVIL, cron: "30 7 * * *" });
  await post("keys", { name, scopes: ["read"] });
  const client = new pg.Client({ connectionString: site.bench.databaseUrl });
  await client.connect();
  await client.query(
    "INSERT INTO toren_control.dead_letters (message_id, queue, body, receive_count) VALUES ('m', 'ticks', $1, 5)",
    [JSON.stringify({ note: EVIL })],
  );
  await client.end();
  for (const [hash, shows] of [
    ["#/schedules", "Edit"],
    ["#/keys", "Revoke"],
    ["#/dead-letters", "Drop"],
  ] as const) {
    await go(hash);
    await page.getByRole("button", { name: shows }).first().waitFor();
    await harmless();
  }
  await post("runs", { agent: "talk", input: "x", attributes: { evil: name } });
  await go("#/runs");
  await page.getByText("evil:").first().waitFor();
  await harmless();
});
