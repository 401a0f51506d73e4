// A long session as people read it: from its end, a page at a time.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { TURNS_PAGE, TURNS_PAGE_BYTES } from "../../shared/core/limits.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { readTurns, type TurnsPage } from "../../shared/engine/read-turns.ts";
import { role } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

/** A session whose log goes on with so many exchanges, of so many characters each. */
async function talked(exchanges: number, chars = 1): Promise<{ stack: Stack; runId: string }> {
  const main = { kind: "session", role: "main" } as const;
  const stack = t.stack([role("main")], main, { model: createScriptedModel(() => "hello") });
  const runId = await stack.start(AGENT, "hi");
  await stack.drive({ agent: AGENT, runId });
  await t.sql(
    `INSERT INTO agent_${AGENT}.events (run_id, stream_id, seq, type, payload)
     SELECT run_id, stream_id, head_seq + n, CASE n % 2 WHEN 1 THEN 'UserMessage' ELSE 'InputRequested' END,
            jsonb_build_object('text', repeat('x', $3) || n)
     FROM agent_${AGENT}.streams, generate_series(1, $2::int * 2) n WHERE run_id = $1 AND stream_id = 'task:w0t0'`,
    [runId, exchanges, chars],
  );
  return { stack, runId };
}

async function page({ stack, runId }: { stack: Stack; runId: string }, before: number | null, limit: number) {
  const read = await readTurns(stack.deps, { agent: AGENT, runId, before, limit });
  if (read.type === "refused") throw new Error(read.error.message);
  return read.page;
}
/** All of it, page by page from the end. */
async function whole(of: { stack: Stack; runId: string }, limit: number): Promise<TurnsPage["turns"][]> {
  const pages: TurnsPage["turns"][] = [];
  for (let before: number | null = null; ; ) {
    const { turns, next } = await page(of, before, limit);
    pages.unshift(turns);
    if (next === null) return pages;
    before = next;
  }
}

describe("the turns of a session", () => {
  test.each([1, 7, 24, 26, 52, 200])("are read whole by pages of %i: each once, in order", async (limit) => {
    const of = await talked(25);
    const pages = await whole(of, limit);
    const turns = pages.flat();
    expect(turns).toHaveLength(52);
    expect(turns.map((turn) => turn.seq)).toEqual([...new Set(turns.map((turn) => turn.seq))].sort((a, b) => a - b));
    expect(turns.slice(0, 2)).toMatchObject([
      { seq: 0, by: "user", text: "hi" },
      { by: "agent", text: "hello" },
    ]);
    expect(Math.max(...pages.map((some) => some.length))).toBeLessThanOrEqual(limit);
  });

  test("I11: a run shows the last of them, and how many there are", async () => {
    const { stack, runId } = await talked(60);
    const view = await readRun(stack.deps, { agent: AGENT, runId });
    expect(view?.said?.count).toBe(122);
    expect(view?.said?.turns).toHaveLength(TURNS_PAGE);
    expect(view?.said?.turns.at(-1)).toMatchObject({ by: "agent", text: "x120" });
    expect((await page({ stack, runId }, view?.said?.next ?? null, 1)).turns).toMatchObject([{ text: "x70" }]);
  });

  test("I11: a page ends before it grows too large, and one long turn is a page", async () => {
    const third = Math.ceil(TURNS_PAGE_BYTES / 3);
    const of = await talked(4, third);
    const pages = await whole(of, 50);
    expect(pages.map((some) => some.length)).toEqual([4, 2, 2, 2]);
    expect(pages.flat()).toHaveLength(10);
    const long = await talked(1, TURNS_PAGE_BYTES + 1);
    expect((await whole(long, 50)).map((some) => some.length)).toEqual([2, 1, 1]);
  });

  test("of a run that is none, and of none at all, are refused", async () => {
    const stack = t.stack([role("main")], { kind: "role", role: "main" }, { model: createScriptedModel(() => "x") });
    const runId = await stack.start(AGENT, "x");
    const asked = { agent: AGENT, before: null, limit: 5 };
    expect(await readTurns(stack.deps, { ...asked, runId })).toMatchObject({ error: { code: "run.not_a_session" } });
    const nobody = "01980f2e-7c1a-4d5b-9e3f-000000000001";
    expect(await readTurns(stack.deps, { ...asked, runId: nobody })).toMatchObject({ error: { code: "run.unknown" } });
    expect((await readRun(stack.deps, { agent: AGENT, runId }))?.said).toBeNull();
  });
});
