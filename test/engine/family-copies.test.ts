// Child runs when their parent is copied, exported or erased.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import { eraseRun, pruneRuns } from "../../shared/engine/erase-runs.ts";
import { type ExportPage, exportRun } from "../../shared/engine/export-run.ts";
import { forkRun } from "../../shared/engine/fork-run.ts";
import { sendSignal } from "../../shared/engine/speak-to-task.ts";
import { workflow } from "../support/agents.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import { familyOf, paying } from "./family.ts";
import { AGENT, type EngineTest, engineTest, firstText } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const { family, started, children } = familyOf(() => t);

describe("a copy, and an end", () => {
  const processes = {
    main: async (ctx: never) => {
      const c = ctx as { run(p: string, i: string): Promise<string>; waitFor(s: string): Promise<string> };
      return [await c.run("sub", "a"), await c.run("sub", "b"), await c.waitFor("go")];
    },
    sub: async (ctx: never) =>
      await (ctx as { ask(r: string, i: string): Promise<string>; input: string }).ask(
        "r",
        (ctx as { input: string }).input,
      ),
  };

  test("a fork has the answers of children that ended; one that it begins from is started anew, as its own", async () => {
    const { stack, model } = family(processes as never);
    const { runId } = await started(stack);
    expect(model.ledger).toHaveLength(2);
    const made = await forkRun(stack.deps, { agent: AGENT, runId, from: "run:sub", rerun: false, by: "ann" });
    if (made.type !== "started") throw new Error(JSON.stringify(made));
    expect((await stack.drive({ agent: AGENT, runId: made.runId }))?.status).toBe("waitingSignal");
    expect(model.ledger.map(({ request }) => firstText(request))).toEqual(["a", "b", "b"]);
    expect(await children(made.runId)).toEqual([expect.objectContaining({ parent: made.runId, root: made.runId })]);
    await sendSignal(stack.deps, { agent: AGENT, runId: made.runId, signal: "go", value: 1 });
    expect(await stack.drive({ agent: AGENT, runId: made.runId })).toMatchObject({ output: ["re a", "re b", 1] });
    expect(checkLog(await dumpDatabase(t.database.pool, AGENT))).toEqual([]);
  });

  test("I6b: a fork that would have a child make an effect again says so first", async () => {
    const { payer } = paying();
    const model = createScriptedModel((r) =>
      r.messages.length === 1 ? { tools: [{ name: "pay", args: { to: "Ann" } }] } : "paid",
    );
    const stack = t.stack(
      [payer],
      workflow<never>(async (ctx) => await ctx.run("sub", null)),
      {
        model,
        processes: { sub: workflow<never>(async (ctx) => await ctx.ask("payer", 1)) },
      },
    );
    const { runId } = await started(stack);
    const [child] = await children(runId);
    const again = await forkRun(stack.deps, { agent: AGENT, runId, from: "run:sub", rerun: false, by: "ann" });
    expect(again).toMatchObject({
      error: { code: "fork.repeats", message: expect.stringContaining(`run ${child?.run_id}: pay`) },
    });
    expect(await forkRun(stack.deps, { agent: AGENT, runId, rerun: false, by: "ann" })).toMatchObject({
      type: "started",
    });
  });

  test("a run is exported with its children, a page at a time", async () => {
    const { stack } = family(processes as never);
    const { runId } = await started(stack);
    const ids = [runId, ...(await children(runId)).map((c) => c.run_id)];
    const lines: { table: string; row: { run_id?: string } }[] = [];
    for (let after: string | null = ""; after !== null; ) {
      const page: ExportPage = await exportRun(stack.deps, { agent: AGENT, runId, after });
      lines.push(...page.lines.map((line) => JSON.parse(line)));
      after = page.next;
    }
    expect(lines.filter((l) => l.table === "runs").map((l) => l.row.run_id)).toEqual(ids);
    expect(new Set(lines.filter((l) => l.table === "events").map((l) => l.row.run_id))).toEqual(new Set(ids));
    const other = `x1.events.0..${"0".repeat(8)}-0000-4000-8000-${"0".repeat(12)}`;
    await expect(exportRun(stack.deps, { agent: AGENT, runId, after: other })).rejects.toThrow("isn't a cursor");
  });

  test("a run is erased with its children, when all of them have ended, and a child never by itself", async () => {
    const { stack } = family(processes as never);
    const { runId } = await started(stack);
    const [child] = await children(runId);
    const ids = [runId, ...(await children(runId)).map((c) => c.run_id)];
    const erase = (id: string) => eraseRun(stack.deps, { agent: AGENT, runId: id });
    expect(await erase(child?.run_id ?? "")).toMatchObject({ error: { code: "run.is_a_child" } });
    expect(await erase(runId)).toMatchObject({ error: { code: "run.not_ended" } });
    await cancelRun(stack.deps, { agent: AGENT, runId, reason: "enough" });
    await stack.drive({ agent: AGENT, runId });
    expect(await pruneRuns(stack.deps, { agent: AGENT, olderThanMs: -1_000, dryRun: true })).toMatchObject({ runs: 1 });
    expect(await erase(runId)).toEqual({ type: "told" });
    for (const table of ["runs", "streams", "events", "inbox", "run_terms"])
      expect(await t.sql(`SELECT FROM agent_${AGENT}.${table} WHERE run_id = ANY ($1)`, [ids])).toEqual([]);
    expect(await t.sql("SELECT FROM toren_control.run_index WHERE run_id = ANY ($1)", [ids])).toEqual([]);
  });
});
