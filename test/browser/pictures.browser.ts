// The pictures of the documentation, made of what the examples really do: `npm run pictures` writes them into docs/pictures. Without PICTURES they are made
// all the same, into a folder that is removed: a page that no picture can be taken of is broken.
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ROOT } from "../repo/files.ts";
import { openSite, type Site, type VisitOptions } from "./support.ts";

const BYTES_MAX = 300 * 1024;
const kept = process.env.PICTURES;

let site: Site;
let folder: string;
let research: string;
let edited: string;
beforeAll(async () => {
  folder = kept === undefined ? await mkdtemp(join(tmpdir(), "toren-pictures-")) : join(ROOT, kept);
  site = await openSite({ latencyMs: 400 });
  const corpus = join(ROOT, "agents/research_crew/corpus");
  const files: string[] = [];
  for (const name of (await readdir(corpus)).filter((n) => n.endsWith(".txt"))) {
    const body = await readFile(join(corpus, name));
    const headers = { "content-type": "text/plain" };
    files.push((await site.ask<{ id: string }>(`files?name=${name}`, { method: "POST", body, headers })).id);
  }
  const question = (await readFile(join(ROOT, "agents/research_crew/question.txt"), "utf8")).trim();
  research = await site.start("research_crew", question, files);
  await site.become(research, "completed");

  edited = await site.start("approval", "Please refund order A-1002, 120 euros: it came two weeks late");
  await site.become(edited, "waitingApproval");
  const prompt = "agents/approval/prompts/desk.md";
  const before = await readFile(join(site.bench.folder, prompt), "utf8");
  await site.bench.write(prompt, `${before.trimEnd()}\n- Thank the customer for their patience.\n`);
  for (;;) {
    const { agents } = await site.ask<{ agents: { name: string; generation: number }[] }>("agents");
    if (agents.find((agent) => agent.name === "approval")?.generation === 2) break;
    await new Promise((r) => setTimeout(r, 100));
  }
  const decision = JSON.stringify({ granted: true, comment: "two weeks is too long" });
  await site.ask(`runs/${edited}/approvals`, { method: "POST", body: decision });
  await site.become(edited, "completed");

  for (const input of ["Where is my order A-1001?", "Please refund order A-1003, 99 euros"])
    await site.start("approval", input);
  await site.start("assistant", "What is 12 * 7?");
  const [newest] = (await site.ask<{ runs: { runId: string }[] }>("runs?agent=approval&limit=1")).runs;
  await site.become(newest?.runId ?? "", "waitingApproval");
}, 120_000);
afterAll(async () => {
  await site.close();
  if (kept === undefined) await rm(folder, { recursive: true });
});

interface Picture {
  readonly name: string;
  readonly hash: () => string;
  /** A line of the timeline to select, and a tab beside it. */
  readonly line?: string;
  readonly nth?: number;
  readonly tab?: string;
  readonly how?: VisitOptions;
}

const PICTURES: readonly Picture[] = [
  { name: "run", hash: () => `#/runs/${research}`, line: "model s2", tab: "Answer" },
  { name: "changes", hash: () => `#/runs/${edited}`, line: "model s0", nth: 1, tab: "Changes" },
  { name: "overview", hash: () => "#/" },
  { name: "approvals", hash: () => "#/approvals", how: { height: 460 } },
  { name: "phone", hash: () => `#/runs/${research}`, how: { width: 390, height: 844, scheme: "dark" } },
];

test.each(PICTURES)("$name", async ({ name, hash, line, nth = 0, tab, how }) => {
  const { page, go, close, complaints } = await site.visit({ width: 1280, height: 800, ...how });
  await page.emulateMedia({ reducedMotion: "reduce", colorScheme: how?.scheme ?? "light" });
  await go(hash());
  await page.waitForLoadState("networkidle");
  if (line !== undefined) {
    await page.getByRole("treeitem").filter({ hasText: line }).nth(nth).click();
    await page.getByRole("tab", { name: tab ?? "Answer" }).click();
    await page.waitForLoadState("networkidle");
  }
  await page.waitForFunction(() => document.querySelector(".skeleton") === null);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  expect((await stat(path)).size).toBeLessThan(BYTES_MAX);
  expect(complaints).toEqual([]);
  await close();
});
