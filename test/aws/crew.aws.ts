import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, install } from "./support/installation.ts";

let at: Installation;
beforeAll(async () => {
  at = await install({ agents: ["agents/research_crew"] });
}, 240_000);
afterAll(() => at?.close());

test("the research crew answers through API Gateway, SQS, Lambda and Postgres", async () => {
  const runId = await at.start("research_crew", "What is a lease, and what does it protect?");
  const run = await at.ended(runId, 90_000);
  expect(run).toMatchObject({ status: "completed", error: null });
}, 120_000);
