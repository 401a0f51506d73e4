// A run and the runs that its workflow started, at the console: from one to the other and back.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { axe, openSite, type Site, type Visit } from "./support.ts";

const BOOK = `name: book
description: Writes chapters.
roles:
  writer: { model: mock/script, system: You write. }
`;
const MAIN = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  const chapters = await Promise.all(["one", "two"].map((topic) => ctx.run("chapter", topic)));
  return chapters.join(" ");
});
`;
const CHAPTER = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => await ctx.ask("writer", ctx.input));
`;

let site: Site;
let visit: Visit;
beforeAll(async () => {
  const files = {
    "agents/book/agent.yaml": BOOK,
    "agents/book/workflows/main.ts": MAIN,
    "agents/book/workflows/chapter.ts": CHAPTER,
  };
  site = await openSite({ model: createScriptedModel(() => "written"), files });
  visit = await site.visit();
});
afterAll(async () => {
  await visit.close();
  await site.close();
});

test("a run shows its children with what they came to; a link goes down, and one comes up", async () => {
  const { page, go, complaints } = visit;
  const runId = await site.start("book", "x");
  expect(await site.become(runId, "completed")).toMatchObject({ output: "written written", childCount: 2 });
  await go(`#/runs/${runId}`);
  const family = page.getByRole("region", { name: "Child runs" });
  await family.getByText("2 below, 2 model calls").waitFor();
  await family.getByText("Completed").nth(1).waitFor();
  expect(await axe(page)).toEqual([]);
  await family.getByRole("link").first().click();
  await page.getByText("a child of").waitFor();
  await page.getByRole("link", { name: runId.slice(0, 8) }).click();
  await family.waitFor();
  expect(complaints).toEqual([]);
});
