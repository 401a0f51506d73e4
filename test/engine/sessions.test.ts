// Sessions on the real engine (I6a): turns, messages in between, closing, and edits under a parked conversation.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel, type Turn } from "../../shared/adapters/model/script.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { sendMessage } from "../../shared/engine/speak-to-task.ts";
import type { ToolDefinition } from "../../shared/ports/agents.ts";
import { role, tool } from "../support/agents.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

const MAIN = { kind: "role", role: "main" } as const;
const CHAT = { kind: "session", role: "main" } as const;
const say = (runId: string, text: string, more: { close?: boolean; steer?: boolean } = {}) => ({
  agent: AGENT,
  runId,
  text,
  close: false,
  steer: false,
  ...more,
});

const said = async (stack: Stack, runId: string): Promise<string[]> => {
  const view = await readRun(stack.deps, { agent: AGENT, runId });
  return (view?.said?.turns ?? []).map((turn) => `${turn.by}: ${turn.text}`);
};

describe("sessions", () => {
  const chat = (
    respond: (r: ModelRequest, n: number) => Turn | Promise<Turn>,
    system = "Be kind.",
    generation = 1,
    tools: ToolDefinition[] = [],
  ) => {
    const model = createScriptedModel(respond);
    return { model, stack: t.stack([role("main", { system, tools })], CHAT, { model, generation }) };
  };
  const heard = (r: ModelRequest): string => {
    const parts = r.messages.at(-1)?.content ?? [];
    return parts.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("+");
  };

  test("turns until it is closed; each answer is shown and recorded, the last one is the output", async () => {
    const { stack, model } = chat((r) => `you said ${heard(r)}`);
    const runId = await stack.start(AGENT, "hello");
    const at = { agent: AGENT, runId };
    expect((await stack.drive(at))?.status).toBe("awaitingInput");
    await sendMessage(stack.deps, say(runId, "more"));
    expect((await stack.drive(at))?.status).toBe("awaitingInput");
    await sendMessage(stack.deps, say(runId, "bye", { close: true }));
    expect(await stack.drive(at)).toMatchObject({ status: "completed", output: "you said bye" });
    expect(model.ledger).toHaveLength(3);
    // Each message woke the task anew, and no answer of an earlier turn stood in place of a question.
    expect((await readRun(stack.deps, at))?.receipt).toMatchObject({ modelCalls: 3, replayed: 0, savedTokens: 0 });
    const counted = await t.database.pool.query(
      `SELECT sum(replays)::int AS n FROM agent_${AGENT}.streams WHERE run_id = $1`,
      [runId],
    );
    expect(counted.rows).toEqual([{ n: 0 }]);
    expect(model.ledger[2]?.request.messages.map((m) => m.role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    expect(await said(stack, runId)).toEqual([
      "user: hello",
      "agent: you said hello",
      "user: more",
      "agent: you said more",
      "user: bye",
      "agent: you said bye",
    ]);
    expect(await sendMessage(stack.deps, say(runId, "hello?"))).toMatchObject({ error: { code: "run.ended" } });
  });

  test("closing with nothing to say ends at once with the last answer", async () => {
    const { stack, model } = chat((r) => `re ${heard(r)}`);
    const runId = await stack.start(AGENT, "a");
    await stack.drive({ agent: AGENT, runId });
    await sendMessage(stack.deps, say(runId, "", { close: true }));
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "re a" });
    expect(model.ledger).toHaveLength(1);
  });

  test("under one key one message is said: again it is told so, another one is refused, and both though the session is over", async () => {
    const { stack } = chat((r) => `re ${heard(r)}`);
    const runId = await stack.start(AGENT, "a");
    await stack.drive({ agent: AGENT, runId });
    const keyed = (text: string, close = true) =>
      sendMessage(stack.deps, { ...say(runId, text, { close }), idempotencyKey: "k" });
    expect(await keyed("bye")).toEqual({ type: "told" });
    const answers = async () => [await keyed("bye"), await keyed("bye", false), await keyed("see you")];
    const conflict = { type: "refused", error: { code: "idempotency.conflict" } };
    expect(await answers()).toMatchObject([{ type: "told" }, conflict, conflict]);
    expect(await stack.drive({ agent: AGENT, runId })).toMatchObject({ status: "completed", output: "re bye" });
    expect(await answers()).toMatchObject([{ type: "told" }, conflict, conflict]);
    expect(await said(stack, runId)).toEqual(["user: a", "agent: re a", "user: bye", "agent: re bye"]);
  });

  test("messages that come while it works begin the next turn, in order; a steering one is read at the next step", async () => {
    let open = false;
    const slow = tool("slow", async () => {
      await until(() => open);
      return "ok";
    });
    const { stack, model } = chat(
      (r, n) => (n === 0 ? { tools: [{ name: "slow", args: {} }] } : `re ${heard(r)}`),
      "Be kind.",
      1,
      [slow],
    );
    const runId = await stack.start(AGENT, "go");
    const driven = stack.drive({ agent: AGENT, runId });
    await until(() => model.ledger.length === 1);
    await until(async () => (await t.events(runId, "task:w0t0")).includes("ToolCallStarted"));
    await sendMessage(stack.deps, say(runId, "one"));
    await sendMessage(stack.deps, say(runId, "now!", { steer: true }));
    await sendMessage(stack.deps, say(runId, "two"));
    open = true;
    await driven;
    const last = await stack.drive({ agent: AGENT, runId });
    expect(last?.status).toBe("awaitingInput");
    expect(await said(stack, runId)).toEqual([
      "user: go",
      "user: one",
      "user: now!",
      "user: two",
      "agent: re now!",
      "agent: re one+two",
    ]);
  });

  test("I6a: editing the prompt under a parked session costs nothing until the next message, then one call", async () => {
    const { stack } = chat((r) => `old ${heard(r)}`);
    const runId = await stack.start(AGENT, "a");
    await stack.drive({ agent: AGENT, runId });
    for (const text of ["b", "c"]) {
      await sendMessage(stack.deps, say(runId, text));
      await stack.drive({ agent: AGENT, runId });
    }
    stack.stop();
    const edited = chat((r) => `new ${heard(r)}`, "Be brief.", 2);
    await edited.stack.deps.queue.send([{ queue: "tasks-short", hint: { agent: AGENT, runId, taskId: "w0t0" } }]);
    expect((await edited.stack.drive({ agent: AGENT, runId }))?.status).toBe("awaitingInput");
    expect(edited.model.ledger).toHaveLength(0);
    await sendMessage(edited.stack.deps, say(runId, "d"));
    await edited.stack.drive({ agent: AGENT, runId });
    expect(edited.model.ledger).toHaveLength(1);
    expect(edited.model.ledger[0]?.request.messages).toHaveLength(7);
    expect(await t.payloads(runId, "StreamInvalidated")).toEqual([]);
  });

  test("a message that comes before anybody has begun the session waits for its begin; without a worker it is refused, to be sent again", async () => {
    const { stack } = chat((r) => `you said ${heard(r)}`);
    const runId = await stack.start(AGENT, "hello");
    const at = { agent: AGENT, runId };
    let begin: Promise<unknown> | undefined;
    const sleep = async (): Promise<void> => {
      begin ??= stack.drive(at);
    };
    const none = await sendMessage({ ...stack.deps, sleep: async () => {} }, say(runId, "is anybody there?"));
    expect(none).toMatchObject({ error: { code: "run.not_begun" } });
    while ((await sendMessage({ ...stack.deps, sleep }, say(runId, "early", { close: true }))).type !== "told");
    await begin;
    expect(await stack.drive(at)).toMatchObject({ status: "completed", output: "you said early" });
  });

  test("a run that is no session takes no messages", async () => {
    const stack = t.stack([role("main")], MAIN, { model: createScriptedModel(() => new Promise(() => {})) });
    const runId = await stack.start(AGENT, "x");
    expect(await sendMessage(stack.deps, say(runId, "hi"))).toMatchObject({ error: { code: "run.not_a_session" } });
  });
});

test("a message that comes in the very moment of the last answer is read, not lost: the session ends after it", async () => {
  const model = createScriptedModel((r) => `re ${JSON.stringify(r.messages.at(-1)?.content)}`);
  const stack = t.stack([role("main")], CHAT, { model });
  const runId = await stack.start(AGENT, "a");
  await stack.drive({ agent: AGENT, runId });
  const { append } = stack.deps.store.streams;
  let late: Promise<unknown> = Promise.resolve();
  let sent = false;
  Object.assign(stack.deps.store.streams, {
    append: async (item: Parameters<typeof append>[0]) => {
      if (!sent && item.next.type === "end" && item.lease.stream.streamId !== "run") {
        sent = true;
        late = sendMessage(stack.deps, say(runId, "one thing more"));
      }
      await late;
      return await append(item);
    },
  });
  await sendMessage(stack.deps, say(runId, "bye", { close: true }));
  const row = await stack.drive({ agent: AGENT, runId });
  expect(await late).toEqual({ type: "told" });
  expect(row).toMatchObject({ status: "completed", output: expect.stringContaining("one thing more") });
  expect(model.ledger).toHaveLength(3);
});
