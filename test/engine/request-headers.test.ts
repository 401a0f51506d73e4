// People read every prompt with SQL: what the log names by a digest is there to be read, before the log names it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { digestOf } from "../../shared/core/digest.ts";
import { parseTaskEvents } from "../../shared/core/events.ts";
import { fromStored, type Json } from "../../shared/core/json.ts";
import { REMEMBERED_HEADERS } from "../../shared/core/limits.ts";
import { type Header, headerOf } from "../../shared/core/task/header.ts";
import { nextAction } from "../../shared/core/task/loop.ts";
import { replay } from "../../shared/core/task/replay.ts";
import { keepHeader } from "../../shared/engine/request-headers.ts";
import type { RequestHeader, TaskStore } from "../../shared/ports/store.ts";
import { CAPS } from "../core/task/driver.ts";
import { role, tool } from "../support/agents.ts";
import { AGENT, type EngineTest, engineTest } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(() => t.reset());
afterAll(() => t.close());

const main = { kind: "role", role: "main" } as const;
const look = tool("look", () => "seen", { description: "Looks." });
const headers = async (): Promise<{ digest: string; header: Omit<RequestHeader, "digest"> }[]> => {
  const rows = await t.sql<{ digest: string; header: Json }>(
    `SELECT digest, header FROM agent_${AGENT}.request_headers ORDER BY first_used_at`,
  );
  return rows.map((r) => ({ digest: r.digest, header: fromStored(r.header) as unknown as RequestHeader }));
};

describe("request headers", () => {
  test("with the events they are every request that went out, to the last character", async () => {
    const roles = [role("main", { system: "You are\u0000 main.", tools: [look], options: { temperature: 0.5 } })];
    const model = createScriptedModel((_, n) => (n < 2 ? { tools: [{ name: "look", args: { n } }] } : "done"));
    const { runId, stack } = await t.run(roles, main, model);
    const [started] = await t.payloads(runId, "TaskStarted");
    const kept = (await headers()).find((h) => h.digest === started?.specDigest);
    if (kept === undefined) throw new Error("no header of the digest that the log names");
    const { outputSchema: _, ...digested } = kept.header;
    expect(digestOf(digested as unknown as Json)).toBe(kept.digest);

    const header: Header = { ...kept.header, digest: kept.digest, parts: {} };
    const stream = { agent: AGENT, runId, streamId: "task:w0t0" };
    const spec = await stack.deps.store.tasks.spec(stream);
    const log = parseTaskEvents(await stack.deps.store.streams.read(stream, 0));
    if (!log.ok || spec === null) throw new Error("the task can't be read");
    const asked = log.events.flatMap((event, i) => {
      if (event.type !== "LlmCallStarted") return [];
      const before = replay(header, null, spec.input, log.events.slice(0, i));
      if (before.type === "mismatch") throw new Error(before.reason);
      const action = nextAction(before.state, CAPS);
      return action.type === "ask" ? [action.request] : [];
    });
    expect(asked).toEqual(model.ledger.map((entry) => entry.request));
    expect(asked).toHaveLength(3);
    expect(asked[0]?.system).toBe("You are\u0000 main.");
  });

  test("one row a digest, whichever worker comes first, and a new one for a changed prompt", async () => {
    const before = (await headers()).length;
    const answer = () => createScriptedModel(() => "done");
    await t.run([role("main", { system: "one" })], main, answer());
    await t.run([role("main", { system: "one" })], main, answer()); // another worker, with nothing in its memory
    expect((await headers()).slice(before).map((h) => h.header.system)).toEqual(["one"]);
    await t.run([role("main", { system: "two" })], main, answer());
    expect((await headers()).slice(before).map((h) => h.header.system)).toEqual(["one", "two"]);
  });

  test("a header that can't be kept ends its task with the size and the limit", async () => {
    const { row } = await t.run(
      [role("main", { system: "x".repeat(17_000_000) })],
      main,
      createScriptedModel(() => ""),
    );
    expect(row).toMatchObject({ status: "failed", error: { code: "payload.too_large" } });
  });
});

describe("keepHeader", () => {
  const counting = () => {
    const written: string[] = [];
    const tasks = { keepHeader: async (_: string, h: RequestHeader) => void written.push(h.digest) };
    return { written, tasks: tasks as unknown as TaskStore };
  };
  const numbered = (n: number) => headerOf(role(`r${n}`));

  test("writes once a worker, agent and digest", async () => {
    const { written, tasks } = counting();
    for (const agent of ["a", "a", "b"]) await keepHeader(tasks, agent, numbered(1));
    expect(written).toEqual([numbered(1).digest, numbered(1).digest]);
  });

  test("what failed is tried again", async () => {
    let tries = 0;
    const tasks = { keepHeader: () => (++tries === 1 ? Promise.reject(new Error("away")) : Promise.resolve()) };
    await expect(keepHeader(tasks as unknown as TaskStore, "a", numbered(1))).rejects.toThrow("away");
    await keepHeader(tasks as unknown as TaskStore, "a", numbered(1));
    expect(tries).toBe(2);
  });

  test("I11: what it remembers is bounded", async () => {
    const { written, tasks } = counting();
    for (let n = 0; n <= REMEMBERED_HEADERS; n++) await keepHeader(tasks, "a", numbered(n));
    await keepHeader(tasks, "a", numbered(REMEMBERED_HEADERS));
    expect(written).toHaveLength(REMEMBERED_HEADERS + 1);
    await keepHeader(tasks, "a", numbered(0));
    expect(written).toHaveLength(REMEMBERED_HEADERS + 2);
  });
});
