// Forks of runs that have children, when the code was edited in between: answers of the source's children are the fork's, the runs are not.
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import { forkRun } from "../../shared/engine/fork-run.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { decideCut } from "../../shared/engine/speak-to-task.ts";
import { workflow } from "../support/agents.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import type { Stack } from "../support/stack.ts";
import { paying } from "./family.ts";
import { AGENT, type EngineTest, engineTest, firstText } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

/** One agent whose main process is edited: who is asked to pay somebody does, and says so. */
function payers() {
  const { paid, payer } = paying();
  const model = createScriptedModel((r) =>
    r.messages.length === 1 ? { tools: [{ name: "pay", args: { to: firstText(r) } }] } : `paid ${firstText(r)}`,
  );
  const processes = { book: workflow<never>(async (ctx) => await ctx.ask("payer", ctx.input)) };
  let generation = 0;
  let last: Stack | undefined;
  const edit = (main: WorkflowFn<never>): Stack => {
    last?.stop();
    last = t.stack([payer], workflow(main), { model, processes, generation: ++generation });
    return last;
  };
  return { paid, model, edit };
}

async function forked(stack: Stack, runId: string, more: { from?: string; rerun?: boolean } = {}) {
  const made = await forkRun(stack.deps, { agent: AGENT, runId, rerun: false, by: "ann", ...more });
  if (made.type !== "started") throw new Error(JSON.stringify(made));
  return { runId: made.runId, row: await stack.drive({ agent: AGENT, runId: made.runId }) };
}

test("I6b: who forks is asked once whether children that followed from the place may do it again", async () => {
  const { paid, edit, model } = payers();
  const stack = edit(async (ctx) => {
    const first = await ctx.step("first", async () => "Ann");
    return await ctx.run("book", first);
  });
  const runId = await stack.start(AGENT, "x");
  await stack.drive({ agent: AGENT, runId });
  const unsaid = await forkRun(stack.deps, { agent: AGENT, runId, from: "step:first", rerun: false, by: "ann" });
  expect(unsaid).toMatchObject({ error: { code: "fork.repeats", message: expect.stringContaining(": pay") } });
  const { row } = await forked(stack, runId, { from: "step:first", rerun: true });
  expect(row).toMatchObject({ status: "completed", output: "paid Ann" });
  expect(paid).toEqual(["Ann", "Ann"]); // done anew, as was said
  expect(model.ledger).toHaveLength(4);
  expect(checkLog(await dumpDatabase(t.database.pool, AGENT))).toEqual([]);
});

test("I5: a fork under edited code takes over answers of its source's children, of a fork's fork too; --keep has one answer", async () => {
  const { paid, edit, model } = payers();
  const first = edit(async (ctx) => [await ctx.run("book", "Ann"), await ctx.run("book", "Bob")]);
  const runId = await first.start(AGENT, "x");
  await first.drive({ agent: AGENT, runId });
  const second = edit(async (ctx) => [
    (await ctx.now()) > 0,
    await ctx.run("book", "Bob"),
    await ctx.run("book", "Ann"),
    await ctx.run("book", "Cid"),
  ]);
  const fork = await forked(second, runId);
  expect(fork.row).toMatchObject({ status: "completed", output: [true, "paid Bob", "paid Ann", "paid Cid"] });
  expect(paid).toEqual(["Ann", "Bob", "Cid"]);
  expect(model.ledger).toHaveLength(6);
  const third = edit(async (ctx) => await ctx.run("book", "Dan"));
  const again = await forked(third, fork.runId);
  expect(again.row?.status).toBe("waitingCut");
  const [cut] = (await readRun(third.deps, { agent: AGENT, runId: again.runId }))?.cuts ?? [];
  expect(cut?.calls).toHaveLength(3);
  await decideCut(third.deps, { agent: AGENT, runId: again.runId, decision: "keep", by: "ann" });
  const kept = await third.drive({ agent: AGENT, runId: again.runId });
  expect(["paid Ann", "paid Bob", "paid Cid"]).toContain(kept?.output);
  expect(model.ledger).toHaveLength(6);
  expect(checkLog(await dumpDatabase(t.database.pool, AGENT))).toEqual([]);
});

test("a fork from a child that the edited code doesn't ask for any more begins none in its place", async () => {
  const { paid, edit } = payers();
  const first = edit(async (ctx) => await ctx.run("book", "Ann"));
  const runId = await first.start(AGENT, "x");
  await first.drive({ agent: AGENT, runId });
  const { row, runId: fork } = await forked(
    edit(async (ctx) => await ctx.run("book", "Bob")),
    runId,
    { from: "run:book", rerun: true },
  );
  expect(row).toMatchObject({ status: "completed", output: "paid Bob" });
  expect(paid).toEqual(["Ann", "Bob"]);
  expect(await t.sql(`SELECT FROM agent_${AGENT}.runs WHERE parent = $1`, [fork])).toHaveLength(1);
});
