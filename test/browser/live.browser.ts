// An answer is read while it is made: in a conversation, and in a run's timeline.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { Model } from "../../shared/ports/model.ts";
import { openSite, type Site, type Visit } from "./support.ts";

const TALK = `name: talk
description: Talks slowly.
model: mock/script
system: You talk.
mode: session
`;
const WORDS = "A tower is built from below, stone by stone, and it is read from above.";

let site: Site;
let visit: Visit;
/** The answer is held back until the test has read its beginning. */
let finish = (): void => {};
beforeAll(async () => {
  const said = createScriptedModel(() => WORDS);
  const model: Model = {
    ask: async (request, signal, context) => {
      const done = new Promise<void>((resolve) => {
        finish = resolve;
      });
      for (const word of WORDS.slice(0, 40).match(/\S+\s*/g) ?? []) {
        context?.onDelta?.({ type: "text", text: word });
        await sleep(30);
      }
      await done;
      return await said.ask(request, signal, context);
    },
  };
  site = await openSite({ model, files: { "agents/talk/agent.yaml": TALK } });
  visit = await site.visit();
});
afterAll(async () => {
  finish();
  await visit.close();
  await site.close();
});

test("in a conversation, and in the step that is looked at; the record takes its place", async () => {
  const { page, go, complaints } = visit;
  const runId = await site.start("talk", "hello");
  await go(`#/chat/${runId}`);
  await page.locator(".saying").getByText("A tower is built from below").waitFor();
  await go(`#/runs/${runId}`);
  await page.getByRole("treeitem").filter({ hasText: "model s0" }).click();
  await page.getByRole("tabpanel").getByText("A tower is built from below").waitFor();
  await go(`#/chat/${runId}`);
  await page.locator(".saying").waitFor();
  finish();
  await page.getByText(WORDS).waitFor();
  expect(await page.locator(".saying").count()).toBe(0);
  expect(await page.getByText(WORDS).count()).toBe(1);
  expect(complaints).toEqual([]);
});
