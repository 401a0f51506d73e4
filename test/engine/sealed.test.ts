// Sealed runs through the whole engine: nothing that anybody said is readable in the database, whatever died on the way, and a worker without the key leaves
// them to one that has it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { fate } from "../../local/testing/mortal.ts";
import { createWorker, type TestWorker } from "../../local/testing/worker.ts";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { createInspection } from "../../shared/adapters/store/inspection.ts";
import { cancelRun } from "../../shared/engine/cancel-run.ts";
import { eraseRun } from "../../shared/engine/erase-runs.ts";
import { forkRun } from "../../shared/engine/fork-run.ts";
import { readCall } from "../../shared/engine/read-call.ts";
import { retryRun } from "../../shared/engine/retry-run.ts";
import { decideApproval, sendMessage, sendSignal } from "../../shared/engine/speak-to-task.ts";
import { startRun } from "../../shared/engine/start-run.ts";
import type { Database } from "../../shared/ports/database.ts";
import { agent, role, SCRIPT, serving, tool, workflow } from "../support/agents.ts";
import { columnsWith } from "../support/canary.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import { masterKey, sealerWith } from "../support/sealer.ts";
import { createStack, passTime, type Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";

const KEY = masterKey("mine");
const CANARY = "canary7f3a";
let t: EngineTest;
let sealed: Database;
/** With keys, but not with ours. */
let others: Database;
const stacks: Stack[] = [];
beforeAll(async () => {
  t = await engineTest();
  sealed = { ...t.database, sealer: sealerWith(KEY) };
  others = { ...t.database, sealer: sealerWith(masterKey("other")) };
});
afterEach(async () => {
  for (const stack of stacks.splice(0)) stack.stop();
  await t.reset();
  await t.sql(
    `DELETE FROM agent_${AGENT}.request_headers; DELETE FROM agent_${AGENT}.run_terms; DELETE FROM toren_control.audit; DELETE FROM toren_control.files`,
  );
});
afterAll(async () => await t.close());

/** A crew that does everything in which something is said: a tool that must be allowed, one that shows a picture, a step, a signal, a child, a session's words. */
const lookUp = tool("look_up", async () => ({ found: `${CANARY} result` }));
const pay = tool("pay", () => `${CANARY} paid`, { effects: "external", idempotency: "none", approval: () => true });
const clerk = role("clerk", { tools: [lookUp, pay], system: `You are ${CANARY}.` });
const main = workflow(async (ctx) => {
  const code = await ctx.step("fetch", async () => `${CANARY} step`);
  const said = await ctx.ask<string>("clerk", { about: `${CANARY} input`, code });
  const child = await ctx.run<string>("sub", { of: `${CANARY} child` });
  const signal = await ctx.waitFor<{ word: string }>("go");
  return { said, child, word: signal?.word ?? "" };
});
const sub = workflow(async (ctx) => `${String((ctx.input as { of: string }).of)} done`);
const modelOf = () =>
  createScriptedModel((request) => {
    const turns = request.messages.filter((m) => m.role === "assistant").length;
    if (turns === 0)
      return { text: `${CANARY} thinking`, tools: [{ name: "look_up", args: { q: `${CANARY} argument` } }] };
    if (turns === 1) return { tools: [{ name: "pay", args: { to: `${CANARY} payee` } }] };
    return `${CANARY} answer`;
  });
type Model = ReturnType<typeof modelOf>;

function stackOf(database: Database, model: Model, more: Partial<Parameters<typeof createStack>[0]> = {}): Stack {
  const agents = serving(agent(AGENT, [clerk], main, { sub }));
  const stack = createStack({ database, agents, model, ...more });
  stacks.push(stack);
  return stack;
}

/** Does for the run what it waits for; resolves when it has ended, or its stack has. `people` ask another server, that doesn't die with it. */
async function served(stack: Stack, runId: string, people: Stack = stack) {
  const run = { agent: AGENT, runId };
  for (let visits = 0; visits < 8; visits++) {
    const row = await stack.drive(run);
    if (row === null || row.endedAt !== null) return row;
    if (row.status === "waitingApproval")
      await decideApproval(people.deps, { ...run, granted: true, by: "ann", comment: `${CANARY} comment` });
    if (row.status === "waitingSignal")
      await sendSignal(people.deps, { ...run, signal: "go", value: { word: `${CANARY} word` } });
  }
  throw new Error("it waits for ever");
}
const OUTPUT = { said: `${CANARY} answer`, child: `${CANARY} child done`, word: `${CANARY} word` };

describe("a sealed run", () => {
  test("says nothing in any column of any table, though its workers are killed; its output is right, and each question paid once", async () => {
    const model = modelOf();
    const first = stackOf(sealed, model);
    const attributes = { customer: "labelcanary" };
    const started = await startRun(first.deps, { agent: AGENT, input: `${CANARY} order`, attributes });
    const runId = started.type === "refused" ? "" : started.runId;
    first.stop();
    let row = null;
    for (let writes = 4; row?.endedAt == null; writes += 5) {
      const hand = fate(writes);
      row = await served(stackOf(sealed, model, { fate: hand }), runId, first);
      await Promise.allSettled(hand.underWay);
      expect(await columnsWith(t.database.pool, CANARY)).toEqual([]);
      await passTime(t.database, AGENT);
    }
    expect(row).toMatchObject({ status: "completed", output: OUTPUT, input: `${CANARY} order` });
    const answered = model.ledger.filter((asked) => asked.answered);
    const [paid] = await t.sql<{ calls: number; steps: number }>(
      `SELECT count(*)::int AS calls, count(DISTINCT (stream_id, payload ->> 'stepId'))::int AS steps FROM agent_${AGENT}.events WHERE type = 'LlmCallCompleted'`,
    );
    expect(paid).toEqual({ calls: 3, steps: 3 }); // no answer on record was asked for again
    expect(answered.length).toBeGreaterThanOrEqual(3);
    expect(checkLog(await dumpDatabase(t.database.pool, AGENT, sealed.sealer))).toEqual([]);
    expect(await columnsWith(t.database.pool, "labelcanary")).toEqual(["run_terms.terms", "runs.attributes"]);
    // Who reads it reads all of it.
    const deps = { ...first.deps, inspection: createInspection(sealed) };
    const asked = (await first.deps.store.streams.read({ agent: AGENT, runId, streamId: "task:w0t0" }, 0)).find(
      (e) => e.type === "LlmCallStarted",
    );
    const call = await readCall(deps, { agent: AGENT, runId, taskId: "w0t0", seq: asked?.seq ?? 0 });
    expect(call).toMatchObject({ type: "call", call: { exact: true, request: { system: `You are ${CANARY}.` } } });
    // In a plain run the same look finds it.
    const { sealer: _sealer, ...plain } = t.database;
    await stackOf(plain, model).start(AGENT, `${CANARY} order`);
    expect(await columnsWith(t.database.pool, CANARY)).toEqual(["events.payload", "run_terms.terms", "runs.input"]);
  });

  test("its fork shares its key and goes its own way; a retried one goes on; erased, nothing of either opens any more", async () => {
    const model = modelOf();
    const stack = stackOf(sealed, model);
    const runId = await stack.start(AGENT, `${CANARY} order`);
    await served(stack, runId);
    const asked = model.ledger.length;
    const forked = await forkRun(stack.deps, { agent: AGENT, runId, rerun: true, by: "ann" });
    const copy = forked.type === "refused" ? "" : forked.runId;
    expect(await served(stack, copy)).toMatchObject({ status: "completed", output: OUTPUT, input: `${CANARY} order` });
    expect(model.ledger.length).toBe(asked);
    const keys = await t.sql<{ n: number }>(
      `SELECT count(DISTINCT data_key)::int AS n FROM agent_${AGENT}.runs WHERE run_id IN ('${runId}', '${copy}')`,
    );
    expect(keys).toEqual([{ n: 1 }]);
    expect(await columnsWith(t.database.pool, CANARY)).toEqual([]);
    expect(checkLog(await dumpDatabase(t.database.pool, AGENT, sealed.sealer))).toEqual([]);
    await eraseRun(stack.deps, { agent: AGENT, runId });
    expect((await stack.deps.store.runs.get(AGENT, copy))?.output).toEqual(OUTPUT);
    await eraseRun(stack.deps, { agent: AGENT, runId: copy });
    expect(await t.sql(`SELECT 1 FROM agent_${AGENT}.runs WHERE data_key IS NOT NULL`)).toEqual([]);
  });

  test("that failed goes on after a retry, and one that is cancelled with a reason ends", async () => {
    let broken = true;
    const model = createScriptedModel(() => `${CANARY} fine`);
    const flaky = workflow(async (ctx) => {
      const said = await ctx.ask<string>("clerk", `${CANARY} q`);
      await ctx.step(
        "post",
        async () => {
          if (broken) throw new Error(`${CANARY} broke`);
          return "ok";
        },
        { attempts: 1 },
      );
      return said;
    });
    const stack = createStack({ database: sealed, agents: serving(agent(AGENT, [clerk], flaky)), model });
    stacks.push(stack);
    const runId = await stack.start(AGENT, "x");
    const failed = await stack.drive({ agent: AGENT, runId });
    expect(failed).toMatchObject({ status: "failed", error: { message: expect.stringContaining(CANARY) } });
    broken = false;
    await retryRun(stack.deps, { agent: AGENT, runId, by: "ann" });
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: `${CANARY} fine` });
    expect(model.ledger).toHaveLength(1);
    const cancelled = await stack.start(AGENT, "x");
    await cancelRun(stack.deps, { agent: AGENT, runId: cancelled, reason: `${CANARY} reason` });
    expect(await stack.drive({ agent: AGENT, runId: cancelled })).toMatchObject({
      status: "cancelled",
      error: { message: expect.stringContaining(CANARY) },
    });
    expect(await columnsWith(t.database.pool, CANARY)).toEqual([]);
  });

  test("a session's turns, its snapshot, and a file that it shows are sealed, and read by who goes on with it", async () => {
    const model = createScriptedModel((request) => `${CANARY} reply ${request.messages.length}`);
    const stack = stackOf(sealed, model);
    const content = new TextEncoder().encode(`${CANARY} in a file`);
    const file = await stack.deps.files.add({
      name: "notes.txt",
      mediaType: "text/plain",
      content,
      pageTexts: [`${CANARY} page`],
    });
    const session = createStack({
      database: sealed,
      agents: serving({ ...agent(AGENT, [clerk], { kind: "session", role: "clerk" }) }),
      model,
    });
    stacks.push(session);
    const started = await startRun(session.deps, { agent: AGENT, input: `${CANARY} hello`, files: [file.id] });
    const runId = started.type === "refused" ? "" : started.runId;
    for (let turn = 0; turn < 6; turn++) {
      expect(await session.drive({ agent: AGENT, runId })).toMatchObject({ status: "awaitingInput" });
      await sendMessage(session.deps, {
        agent: AGENT,
        runId,
        text: `${CANARY} turn ${turn}`,
        close: turn === 5,
        steer: false,
      });
    }
    expect(await session.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed" });
    const { turns, count } = await session.deps.store.tasks.turns(AGENT, runId, { before: null, limit: 100 });
    expect([count, turns.at(-2)?.text]).toEqual([turns.length, `${CANARY} turn 0`]);
    expect(await columnsWith(t.database.pool, CANARY)).toEqual([]);
    expect(new TextDecoder().decode((await stack.deps.files.content(file.id)) ?? undefined)).toBe(
      `${CANARY} in a file`,
    );
    expect(await stack.deps.files.pageText(file.id)).toBe(`${CANARY} page`);
    const elsewhere = stackOf(others, model);
    await expect(elsewhere.deps.files.content(file.id)).rejects.toMatchObject({ code: "encryption.key_missing" });
    expect((await elsewhere.deps.files.list([file.id]))[0]?.name).toBe("notes.txt");
  });
});

describe("a worker without the key", () => {
  const strangerOver = (database: Database, model: Model): TestWorker =>
    createWorker({ database, agents: serving(agent(AGENT, [clerk], main, { sub })), models: { [SCRIPT]: model } });
  /** Takes whatever hints there are, those that wait too, a few times. */
  async function looks(stranger: TestWorker): Promise<void> {
    for (let look = 0; look < 3; look++) {
      await t.sql("UPDATE toren_control.queue_messages SET visible_at = clock_timestamp()");
      expect(await stranger.step()).toBeGreaterThan(0);
      await until(() => stranger.inFlight() === 0);
    }
  }

  test("I7: leaves the run as it is, acknowledges, says which key is missing; one that has it goes on", async () => {
    const model = modelOf();
    const mine = stackOf(sealed, model);
    const runId = await mine.start(AGENT, `${CANARY} order`);
    const { sealer: _sealer, ...plain } = t.database;
    for (const database of [others, plain]) {
      const stranger = strangerOver(database, model);
      await looks(stranger);
      expect(stranger.worked.length).toBeGreaterThan(0);
      expect(new Set(stranger.worked)).toEqual(new Set(["deferred"]));
      stranger.stop();
    }
    const [stream] = await t.sql<{ problem: { code: string; message: string }; attempts: number; head_seq: string }>(
      `SELECT problem, attempts, head_seq, lease_owner FROM agent_${AGENT}.streams WHERE run_id = '${runId}'`,
    );
    expect(stream).toMatchObject({
      problem: { code: "encryption.key_missing", message: expect.stringContaining('"mine"') },
      attempts: 0,
      head_seq: "1",
      lease_owner: null,
    });
    const received = await t.sql<{ n: number }>(
      "SELECT max(receive_count)::int AS n FROM toren_control.queue_messages",
    );
    expect(received[0]?.n ?? 0).toBeLessThan(5); // new hints, not one that is received again and again
    expect(model.ledger).toEqual([]);
    await passTime(t.database, AGENT);
    await t.sql("UPDATE toren_control.queue_messages SET visible_at = clock_timestamp()");
    await t.sql(`UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp() WHERE wake_at IS NOT NULL`);
    expect(await served(mine, runId)).toMatchObject({ status: "completed", output: OUTPUT });
  });

  test("of a task that comes to it in the middle of a run it makes nothing either", async () => {
    const model = modelOf();
    const hand = fate(9);
    const people = stackOf(sealed, model);
    const runId = await people.start(AGENT, `${CANARY} order`);
    people.stop();
    await served(stackOf(sealed, model, { fate: hand }), runId, people);
    await Promise.allSettled(hand.underWay);
    await passTime(t.database, AGENT);
    const before = await t.sql<{ n: number }>(`SELECT count(*)::int AS n FROM agent_${AGENT}.events`);
    const stranger = strangerOver(others, model);
    await looks(stranger);
    stranger.stop();
    expect(await t.sql(`SELECT count(*)::int AS n FROM agent_${AGENT}.events`)).toEqual(before);
    await passTime(t.database, AGENT);
    await t.sql(`UPDATE agent_${AGENT}.streams SET wake_at = clock_timestamp() WHERE wake_at IS NOT NULL`);
    expect(await served(stackOf(sealed, model), runId)).toMatchObject({ status: "completed", output: OUTPUT });
  });
});
