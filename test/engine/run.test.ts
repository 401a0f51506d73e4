import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { ProcessDefinition, RoleDefinition } from "../../shared/ports/agents.ts";
import { agent, role, serving, tool, workflow } from "../support/agents.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { createStack } from "../support/stack.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, ["crew"]);
});
afterAll(async () => await db.drop());

const lastText = (request: ModelRequest): string => JSON.stringify(request.messages.at(-1));

async function run(
  roles: RoleDefinition[],
  main: ProcessDefinition,
  respond: (r: ModelRequest, n: number) => Turn,
  input: string = "hello",
) {
  const model = createScriptedModel(respond);
  const stack = createStack({ database: db.database, agents: serving(agent("crew", roles, main)), model });
  const runId = await stack.start("crew", input);
  const row = await stack.drive({ agent: "crew", runId });
  stack.stop();
  return { row, model, stack, runId };
}

describe("a run on a real Postgres", () => {
  test("a role without tools answers in one call and two appends of its task (I4)", async () => {
    const { row, model } = await run([role("main")], { kind: "role", role: "main" }, () => "hi there");
    expect(row).toMatchObject({ status: "completed", output: "hi there" });
    expect(model.ledger).toHaveLength(1);
  });

  test("tools run, and their results reach the model in call order", async () => {
    const slow = tool("slow", async () => {
      await new Promise((r) => setTimeout(r, 30));
      return "S";
    });
    const fast = tool("fast", () => "F");
    const { row, model } = await run([role("main", { tools: [slow, fast] })], { kind: "role", role: "main" }, (r, n) =>
      n === 0
        ? {
            tools: [
              { name: "slow", args: {} },
              { name: "fast", args: {} },
            ],
          }
        : lastText(r),
    );
    expect(row?.status).toBe("completed");
    expect(row?.output).toMatch(/"text":"S".*"text":"F"/);
    expect(model.ledger).toHaveLength(2);
  });

  test("waves in parallel, then a writer", async () => {
    const main = workflow(async (ctx) => {
      const { results } = await ctx.wave(
        "research",
        ["a", "b", "c"].map((t) => ctx.task("researcher", t)),
      );
      return await ctx.ask(
        "writer",
        results.map((r) => r.output ?? null),
      );
    });
    const { row, model } = await run(
      [role("researcher"), role("writer")],
      main,
      (r) => `<${r.messages[0]?.content[0]?.type === "text" ? r.messages[0].content[0].text : ""}>`,
    );
    expect(row).toMatchObject({ status: "completed", output: '<["<a>","<b>","<c>"]>' });
    expect(model.ledger).toHaveLength(4);
  });

  test("a timer, steps with a retry, reads", async () => {
    let tries = 0;
    const main = workflow(async (ctx) => {
      await ctx.sleep(50);
      const v = await ctx.step("flaky", async () => {
        if (++tries < 2) throw new Error("once");
        return { a: 1 };
      });
      const [n, r] = [await ctx.now(), await ctx.random()];
      return { v, ok: n > 0 && r < 1 };
    });
    const { row } = await run([role("x")], main, () => "");
    expect(row).toMatchObject({ status: "completed", output: { ok: true, v: { a: 1 } } });
    expect(tries).toBe(2);
  });

  test("a failing wave ends the run under fail, and is a result under collect", async () => {
    const failing = (onTaskFailure: "fail" | "collect") =>
      workflow(async (ctx) => {
        const { results } = await ctx.wave(
          "w",
          ["ok", "bad", "ok2"].map((t) => ctx.task("r", t)),
          { onTaskFailure },
        );
        return results.map((r) => r.status);
      });
    const answer = (r: ModelRequest): Turn => (lastText(r).includes("bad") ? { refusal: true } : "fine");
    expect((await run([role("r")], failing("fail"), answer)).row).toMatchObject({
      status: "failed",
      error: { code: "wave.failed" },
    });
    expect((await run([role("r")], failing("collect"), answer)).row).toMatchObject({
      status: "completed",
      output: ["completed", "failed", "completed"],
    });
  });
});
