// What people type, mark and send stays theirs, whatever comes in between: an answer that is slow or lost, a minute that passes, a log that grows.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import { openSite, type Site, type Visit } from "./support.ts";

const TALK = "name: talk\ndescription: Talks.\nmodel: mock/script\nsystem: You talk.\nmode: session\ntools: [look]\n";
const LOOK = `import { defineTool } from "toren";
import { setTimeout } from "node:timers/promises";
import * as z from "zod";
export const look = defineTool({ description: "Looks.", input: z.object({}), effects: "none", idempotency: "none", approval: "never", handler: async () => await setTimeout(60, "seen") });
`;
const GATE = "name: gate\ndescription: Waits.\nroles:\n  guard: { model: mock/script, system: You guard. }\n";
const GATE_MAIN = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => [await ctx.waitFor("open"), await ctx.waitFor("open")]);
`;
const LOOKS = 30;

let site: Site;
let visit: Visit;
beforeAll(async () => {
  const model = createScriptedModel(({ messages }) => {
    const asked = messages.findLast(({ content }) => content.some(({ type }) => type === "text"));
    const since = messages.slice(asked === undefined ? 0 : messages.indexOf(asked)).length;
    const looks = JSON.stringify(asked).includes("look around") && since < 2 * LOOKS;
    return looks ? { tools: [{ name: "look", args: {} }] } : "heard you";
  });
  site = await openSite({
    model,
    files: {
      "agents/talk/agent.yaml": TALK,
      "agents/talk/tools.ts": LOOK,
      "agents/gate/agent.yaml": GATE,
      "agents/gate/workflows/main.ts": GATE_MAIN,
    },
  });
  visit = await site.visit();
});
afterAll(async () => {
  await visit.close();
  await site.close();
});

const users = ({ turns }: RunJson): string[] => (turns ?? []).flatMap(({ by, text }) => (by === "user" ? [text] : []));

test("what is typed while a message is sent stays; one whose answer was lost doesn't stand in the way of another", async () => {
  const { page, go, complaints } = visit;
  const runId = await site.start("talk", "hello");
  await site.become(runId, "awaitingInput");
  await go(`#/chat/${runId}`);
  const field = page.getByLabel("Message");
  const { promise: mayGo, resolve: letGo } = Promise.withResolvers<void>();
  await page.route("**/messages", async (route) => {
    await mayGo;
    await route.continue();
  });
  await field.fill("first");
  await field.press("Enter");
  await field.pressSequentially(" and second");
  letGo();
  await page.getByText("heard you").nth(1).waitFor();
  expect(await field.inputValue()).toBe(" and second");

  await page.unroute("**/messages");
  await page.route("**/messages", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await field.fill("third");
  await field.press("Enter");
  await page.getByText("The server doesn't answer").waitFor();
  await page.unroute("**/messages");
  await field.fill("fourth");
  await field.press("Enter");
  await page.getByText("fourth").waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".said.agent .bubble").length === 4);
  expect(users(await site.become(runId, "awaitingInput"))).toEqual(["hello", "first", "third", "fourth"]);
  expect(complaints.filter((words) => !words.includes("ERR_FAILED"))).toEqual([]);
});

test("a workflow that waits twice for a signal gets it twice, with the same value", async () => {
  const { page, go } = visit;
  const runId = await site.start("gate", "in");
  const first = (await site.become(runId, "waitingSignal")).signals[0]?.since;
  await go(`#/runs/${runId}`);
  const send = page.getByRole("button", { name: "Send" });
  await send.click();
  while ((await site.become(runId, "waitingSignal")).signals[0]?.since === first) await page.waitForTimeout(50);
  await page.waitForTimeout(1_500); // the page has read it
  await send.click();
  expect(await site.become(runId, "completed")).toMatchObject({ output: [null, null] });
});

test("marks stay while time passes; words and a status that are chosen together both count", async () => {
  const { page, go } = visit;
  await go("#/runs?since=1h");
  await page.locator("tbody tr").nth(1).waitFor();
  await page.locator("tbody").getByRole("checkbox").first().check();
  await page.clock.setFixedTime(Date.now() + 61_000);
  await page.waitForResponse((response) => /\/runs\?/.test(response.url()));
  await page.waitForResponse((response) => /\/runs\?/.test(response.url()));
  expect(await page.locator(".bulk").innerText()).toContain("1 marked");
  await page.clock.setFixedTime(Date.now());
  await page.getByLabel("Search").fill("hello");
  await page.getByLabel("Status").selectOption("awaitingInput");
  await page.waitForURL(/text=hello/);
  expect(page.url()).toContain("status=awaitingInput");
});

test("a conversation that grows faster than it is read is read all the same", async () => {
  const { page, go } = visit;
  const runId = await site.start("talk", "hello");
  await site.become(runId, "awaitingInput");
  const broken: string[] = [];
  page.on("requestfailed", (request) => broken.push(request.url()));
  await page.route(`**/runs/${runId}`, async (route) => {
    await new Promise((r) => setTimeout(r, 150));
    await route.continue();
  });
  await go(`#/chat/${runId}`);
  await page.getByText("heard you").waitFor();
  await page.getByLabel("Message").fill("look around");
  await page.keyboard.press("Enter");
  await page.getByText("heard you").nth(1).waitFor();
  expect(broken.filter((url) => url.endsWith(`/runs/${runId}`))).toEqual([]);
});

test("who can't copy is told so", async () => {
  const { page, go } = visit;
  const runId = await site.start("talk", "hello");
  await page.addInitScript({ content: "Object.defineProperty(navigator, 'clipboard', { value: undefined })" });
  await page.reload();
  await go(`#/runs/${runId}`);
  await page.getByRole("button", { name: "Copy id" }).click();
  await page.getByText("doesn't let this page copy").waitFor();
});
