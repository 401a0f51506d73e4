// Runs are forgotten whole, and only those that have ended.
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { createPostgresFiles } from "../../shared/adapters/files/postgres.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { createTotals } from "../../shared/adapters/store/totals.ts";
import { addCounts } from "../../shared/engine/add-counts.ts";
import { eraseRun, pruneRuns, retain } from "../../shared/engine/erase-runs.ts";
import { retryRun } from "../../shared/engine/retry-run.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { Agents } from "../../shared/ports/agents.ts";
import type { Totals } from "../../shared/ports/totals.ts";
import { agent, role, serving, workflow } from "../support/agents.ts";
import { createStack, type Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, firstText } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const DAY_MS = 86_400_000;
const echo = () => createScriptedModel((r) => (firstText(r) === "bad" ? { refusal: true } : `<${firstText(r)}>`));
const stackOf = (): Stack =>
  t.stack(
    [role("r")],
    workflow<string>(async (ctx) => {
      if (ctx.input === "sleep") await ctx.sleep(3_600_000);
      const { results } = await ctx.wave("w", [ctx.task("r", ctx.input), ctx.task("r", "y".repeat(300_000))]);
      return results.length;
    }),
    { model: echo() },
  );
async function ended(stack: Stack, input: string, days: number): Promise<string> {
  const runId = await stack.start(AGENT, input);
  await stack.drive({ agent: AGENT, runId });
  await t.sql(`UPDATE agent_${AGENT}.runs SET ended_at = ended_at - $2 * interval '1 day' WHERE run_id = $1`, [
    runId,
    days,
  ]);
  return runId;
}
/** Rows of the run in every table that has a run's id. */
async function rows(runId: string): Promise<number> {
  const tables = await t.sql<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.columns
     WHERE column_name = 'run_id' AND (table_schema = 'agent_${AGENT}' OR table_name = 'run_index')`,
  );
  expect(tables.length).toBeGreaterThan(10);
  let sum = 0;
  for (const { name } of tables)
    sum += (await t.sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${name} WHERE run_id = $1`, [runId]))[0]?.n ?? 0;
  return sum;
}

test("old runs go with all that is theirs; younger ones, and those that go on, stay", async () => {
  const stack = stackOf();
  const old = await ended(stack, "old", 31);
  const failed = await ended(stack, "bad", 40);
  const young = await ended(stack, "young", 29);
  const asleep = await stack.start(AGENT, "sleep");
  await stack.drive({ agent: AGENT, runId: asleep });
  const prune = (dryRun: boolean) => pruneRuns(stack.deps, { agent: AGENT, olderThanMs: 30 * DAY_MS, dryRun });
  expect(await prune(true)).toMatchObject({ runs: 2, more: false });
  expect(await rows(old)).toBeGreaterThan(10);
  expect(await prune(false)).toMatchObject({ runs: 2, more: true });
  expect(await prune(false)).toEqual({ runs: 0, events: 0, more: false });
  expect([await rows(old), await rows(failed)]).toEqual([0, 0]);
  expect(await rows(young)).toBeGreaterThan(10);
  expect((await stack.deps.store.runs.get(AGENT, asleep))?.status).toBe("waitingTimer");
});

test("one run is erased by name, unless it goes on", async () => {
  const stack = stackOf();
  const done = await ended(stack, "x", 0);
  const other = await ended(stack, "x", 0);
  const asleep = await stack.start(AGENT, "sleep");
  await stack.drive({ agent: AGENT, runId: asleep });
  const erase = (runId: string) => eraseRun(stack.deps, { agent: AGENT, runId });
  expect(await erase(done)).toEqual({ type: "told" });
  expect(await rows(done)).toBe(0);
  expect(await erase(done)).toMatchObject({ error: { code: "run.unknown" } });
  expect(await erase(asleep)).toMatchObject({ error: { code: "run.not_ended" } });
  expect(await rows(other)).toBeGreaterThan(10);
});

test("a run that is retried at the same moment is either gone or goes on, never half", async () => {
  const stack = stackOf();
  for (let n = 0; n < 5; n++) {
    const runId = await ended(stack, "bad", 0);
    const [told, erased] = await Promise.all([
      retryRun(stack.deps, { agent: AGENT, runId, by: "ann" }),
      eraseRun(stack.deps, { agent: AGENT, runId }),
    ]);
    if (told.type === "told") {
      expect(erased).toMatchObject({ type: "refused" });
      expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "failed", retries: 1 });
    } else {
      expect(erased.type).toBe("told");
      expect(await rows(runId)).toBe(0);
    }
  }
});

test("files that only erased runs had go too; others stay", async () => {
  const stack = stackOf();
  const files = createPostgresFiles(t.database);
  const add = (name: string) => files.add({ name, mediaType: "text/plain", content: new TextEncoder().encode(name) });
  const [own, shared, loose] = [await add("own"), await add("shared"), await add("loose")];
  const start = async (ids: string[]): Promise<string> => {
    const started = await startRun(stack.deps, { agent: AGENT, input: "x", files: ids });
    if (started.type === "refused") throw new Error(started.error.message);
    await stack.drive({ agent: AGENT, runId: started.runId });
    return started.runId;
  };
  const first = await start([own.id, shared.id]);
  await start([shared.id]);
  expect(await eraseRun(stack.deps, { agent: AGENT, runId: first })).toEqual({ type: "told" });
  const left = (await files.list([own.id, shared.id, loose.id])).map((f) => f.name);
  expect(left.sort()).toEqual(["loose", "shared"]);
});

test("an agent's own rule is carried out, in batches", async () => {
  const plain = stackOf();
  const old = await ended(plain, "old", 8);
  const young = await ended(plain, "young", 6);
  await retain(plain.deps);
  expect(await rows(old)).toBeGreaterThan(10); // it has no rule
  const ruled = { ...agent(AGENT, [role("r")], { kind: "role", role: "r" }), retentionMs: 7 * DAY_MS };
  const stack = createStack({ database: t.database, agents: serving(ruled), model: echo() });
  await retain(stack.deps);
  stack.stop();
  expect(await rows(old)).toBe(0);
  expect(await rows(young)).toBeGreaterThan(10);
});

test("an agent whose schema is broken keeps no other from its rule, nor from being counted", async () => {
  const old = await ended(stackOf(), "old", 8);
  const ruled = { ...agent(AGENT, [role("r")], { kind: "role", role: "r" }), retentionMs: 7 * DAY_MS };
  const agents: Agents = { get: () => ({ agent: ruled, generation: 1 }), names: () => ["absent", AGENT] };
  const stack = createStack({ database: t.database, agents, model: echo() });
  const counted: string[] = [];
  const totals = createTotals(t.database);
  const add: Totals["add"] = async (name, ...rest) => {
    const streams = await totals.add(name, ...rest);
    counted.push(name);
    return streams;
  };
  await expect(addCounts({ agents, totals: { ...totals, add } })).rejects.toThrow("agent_absent");
  await expect(retain(stack.deps)).rejects.toThrow("agent_absent");
  stack.stop();
  expect(counted).toEqual([AGENT]);
  expect(await rows(old)).toBe(0);
});
