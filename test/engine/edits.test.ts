// The worked examples of docs/explanation/replay-and-cuts.md on a real Postgres: what an edit costs, in model calls.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import type { Agents } from "../../shared/ports/agents.ts";
import { agent, role, serving, tool, workflow } from "../support/agents.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { createStack, passTime } from "../support/stack.ts";

const AGENT = "crew";
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
});
afterAll(async () => await db.drop());

const textOf = (r: ModelRequest): string => {
  const part = r.messages[0]?.content[0];
  return part?.type === "text" ? part.text : "";
};

const PUBLISH_MS = 3_600_000;
/** Research in parallel, then a writer, then a long sleep: there is time to edit before the end. */
const crew =
  (topics: readonly string[], style = "brief", before: string | null = null): WorkflowFn =>
  async (ctx) => {
    if (before !== null) await ctx.ask("planner", before);
    const { results } = await ctx.wave(
      "research",
      topics.map((t) => ctx.task("researcher", t)),
    );
    const draft = await ctx.ask("writer", { style, notes: results.map((r) => r.output ?? null) });
    await ctx.sleep(PUBLISH_MS);
    return draft;
  };

const served = (run: WorkflowFn, generation: number, prompts: Record<string, string> = {}): Agents => {
  const roles = ["planner", "researcher", "writer"].map((name) =>
    role(name, prompts[name] === undefined ? {} : { system: prompts[name] }),
  );
  return serving(agent(AGENT, roles, workflow(run as WorkflowFn<never>)), generation);
};

/** Runs the first code until it sleeps, then the second; which roles were asked then, and how many cuts there were. */
async function edited(
  first: Agents,
  second: Agents,
): Promise<{ asked: string[]; cuts: number; status: string | undefined }> {
  const asked: string[] = [];
  const model = createScriptedModel((r) => {
    asked.push(`${/You are the (\w+)/.exec(r.system)?.[1] ?? r.system}`);
    return `<${textOf(r)}>`;
  });
  const before = createStack({ database: db.database, agents: first, model });
  const runId = await before.start(AGENT, "x");
  await before.drive({ agent: AGENT, runId });
  before.stop();
  asked.length = 0;
  await db.database.pool.query(
    `UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp() WHERE run_id = $1 AND stream_id = 'run'`,
    [runId],
  );
  const after = createStack({ database: db.database, agents: second, model });
  const row = await after.drive({ agent: AGENT, runId });
  after.stop();
  const { rows } = await db.database.pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM agent_${AGENT}.events WHERE run_id = $1 AND type = 'StreamInvalidated'`,
    [runId],
  );
  return { asked, cuts: rows[0]?.n ?? -1, status: row?.status };
}

describe("an edit in the middle of a run (I6)", () => {
  test("1 the writer's input: only the writer runs", async () => {
    expect(await edited(served(crew(["a", "b"]), 1), served(crew(["a", "b"], "long"), 2))).toEqual({
      asked: ["writer"],
      cuts: 1,
      status: "waitingTimer",
    });
  });
  test("2 a topic more: two tasks are claimed, the new one and the writer run", async () => {
    expect(await edited(served(crew(["a", "b"]), 1), served(crew(["a", "b", "c"]), 2))).toEqual({
      asked: ["researcher", "writer"],
      cuts: 1,
      status: "waitingTimer",
    });
  });
  test("3 renamed and reformatted code, a helper: nothing runs", async () => {
    const refactored: WorkflowFn = async (c) => {
      const research = async (list: string[]) =>
        (
          await c.wave(
            "research",
            list.map((one) => c.task("researcher", one)),
          )
        ).results.map((r) => r.output ?? null);
      const notes = await research(["a", "b"]);
      await Promise.resolve();
      const text = await c.ask("writer", { notes, style: "brief" });
      await c.sleep(PUBLISH_MS);
      return text;
    };
    expect(await edited(served(crew(["a", "b"]), 1), served(refactored, 2))).toEqual({
      asked: [],
      cuts: 0,
      status: "waitingTimer",
    });
  });
  test("4 inserted in front: only what is new runs", async () => {
    expect(await edited(served(crew(["a", "b"]), 1), served(crew(["a", "b"], "brief", "plan"), 2))).toEqual({
      asked: ["planner"],
      cuts: 1,
      status: "waitingTimer",
    });
  });
  test("a settled task is a fact: editing its role's prompt reopens nothing", async () => {
    expect(
      await edited(served(crew(["a", "b"]), 1), served(crew(["a", "b"]), 2, { writer: "You are the poet." })),
    ).toEqual({ asked: [], cuts: 0, status: "waitingTimer" });
  });
});

describe("a prompt changed while its task works (I6)", () => {
  const twoSteps = (system: string, generation: number, effects: "external" | "none" = "none"): Agents =>
    serving(
      agent(AGENT, [role("main", { system, tools: [tool("look", () => "seen", { effects })] })], {
        kind: "role",
        role: "main",
      }),
      generation,
    );
  const answer = (r: ModelRequest, hang: () => Promise<void>) =>
    r.messages.length === 1 ? { tools: [{ name: "look", args: {} }] } : hang().then(() => `final by ${r.system}`);

  async function midway(effects: "external" | "none") {
    const asked: string[] = [];
    let hanging = true;
    const model = createScriptedModel((r) => {
      asked.push(r.system);
      return answer(r, () => (hanging ? new Promise(() => {}) : Promise.resolve()));
    });
    const before = createStack({ database: db.database, agents: twoSteps("old", 1, effects), model });
    const runId = await before.start(AGENT, "x");
    void before.drive({ agent: AGENT, runId });
    while (asked.length < 2) await new Promise((r) => setTimeout(r, 5));
    before.fate.dead = true; // killed while its second call is in flight
    before.fate.onDeath();
    hanging = false;
    await passTime(db.database, AGENT);
    const continueWith = async (agents: Agents) => {
      const stack = createStack({ database: db.database, agents, model });
      const row = await stack.drive({ agent: AGENT, runId });
      stack.stop();
      return row;
    };
    return { asked, runId, continueWith };
  }

  test("the same code: the recorded answer is used, only the call in flight is sent again (I5)", async () => {
    const { asked, continueWith } = await midway("none");
    expect(await continueWith(twoSteps("old", 1))).toMatchObject({ status: "completed", output: "final by old" });
    expect(asked).toEqual(["old", "old", "old"]);
  });
  test("another prompt: cut at the first question that it changes", async () => {
    const { asked, continueWith } = await midway("none");
    expect(await continueWith(twoSteps("new", 2))).toMatchObject({ status: "completed", output: "final by new" });
    expect(asked).toEqual(["old", "old", "new", "new"]);
  });
  test("I6b: a cut that would repeat an unkeyed effect isn't made; reverting the edit goes on, unharmed", async () => {
    const { asked, continueWith } = await midway("external");
    expect(await continueWith(twoSteps("new", 2, "external"))).toMatchObject({ status: "waitingCut" });
    expect(asked).toEqual(["old", "old"]);
    await db.database.pool.query(
      `UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp() WHERE status = 'parked' AND wait = 'cut'`,
    );
    expect(await continueWith(twoSteps("old", 3, "external"))).toMatchObject({
      status: "completed",
      output: "final by old",
    });
    expect(asked).toEqual(["old", "old", "old"]);
  });
});
