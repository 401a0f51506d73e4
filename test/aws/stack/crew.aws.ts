import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { migrateByHand } from "../../../local/aws/migrate-by-hand.ts";
import { isUnknown, UNHELD } from "../../../local/aws/unheld.ts";
import { DEPLOY_MS, type Installation, openInstallation } from "../support/installation.ts";

const CORPUS = join(import.meta.dirname, "../../../agents/research_crew/corpus");

let at: Installation;
beforeAll(async () => {
  at = await openInstallation();
}, DEPLOY_MS);
afterAll(() => at?.close());

test("the stack is deployed, and what the emulator only pretends to have made is on the list, which names nothing else", () => {
  const unknown = new Set(at.deployed.resources.filter(isUnknown).map(({ type }) => type));
  expect([...unknown].sort()).toEqual(
    Object.keys(UNHELD)
      .filter((type) => type !== "Custom::TorenMigration")
      .sort(),
  );
  expect(at.deployed.migrated).toBe(true);
});

test("the migration can be invoked by hand too, where an emulator knows no custom resources, and changes nothing the second time", async () => {
  const generations = () => at.sql("SELECT agent, generation FROM toren_control.deployments ORDER BY 1, 2");
  const before = await generations();
  await migrateByHand(process.env.AWS_ENDPOINT_URL ?? "", at.deployed);
  expect(await generations()).toEqual(before);
}, 60_000);

test("the research crew answers through API Gateway, SQS, Lambda and Postgres", async () => {
  const files: string[] = [];
  for (const name of ["explicit-locking.txt", "transaction-isolation.txt"]) {
    const form = new FormData();
    form.set("file", new Blob([readFileSync(join(CORPUS, name))]), name);
    const answer = await fetch(new URL("files", at.deployed.apiUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${at.key}` },
      body: form,
    });
    expect(answer.status).toBe(201);
    files.push(((await answer.json()) as { id: string }).id);
  }
  const input = "What is a deadlock, and how does PostgreSQL resolve one?";
  const answer = await at.request("POST", "runs", { agent: "research_crew", input, files });
  expect(answer.status).toBe(201);
  const { runId } = (await answer.json()) as { runId: string };
  const run = await at.ended(runId, 90_000);
  expect(run).toMatchObject({ status: "completed", error: null });
  expect(run.output).toContain("explicit-locking.txt");
  await at.expectBalanced([run]);
  const page = (await (await at.request("GET", `runs/${runId}/events?wait=0`)).json()) as {
    events: object[];
    ended: boolean;
  };
  expect(page).toMatchObject({ ended: true });
  expect(page.events.at(0)).toMatchObject({ type: "RunCreated" });
}, 120_000);

test("a file that is too large for a row goes to the bucket, and goes from there when it is removed", async () => {
  const form = new FormData();
  form.set("file", new Blob([`${"All work and no play. ".repeat(193_000)}`], { type: "text/plain" }), "large.txt");
  const headers = { authorization: `Bearer ${at.key}` };
  const answer = await fetch(new URL("files", at.deployed.apiUrl), { method: "POST", headers, body: form });
  expect(answer.status).toBe(201);
  const { id } = (await answer.json()) as { id: string };
  expect((await at.request("DELETE", `files/${id}`)).status).toBeLessThan(300);
  const operations = at
    .calls()
    .filter(({ service }) => service === "s3")
    .map(({ operation }) => operation);
  expect(operations).toEqual(expect.arrayContaining(["PutObject", "DeleteObject"]));
}, 60_000);
