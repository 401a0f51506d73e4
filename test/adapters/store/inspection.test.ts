// A stream in outline: everything that happened, of texts only the beginnings.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createInspection } from "../../../shared/adapters/store/inspection.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { OUTLINE_SAID_CHARS, PAYLOAD_INLINE_BYTES } from "../../../shared/core/limits.ts";
import { type Bench, createBench, event } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

const AGENT = "outlines";
const USAGE = { input: 1, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 };
let db: TestDatabase;
let b: Bench;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
  const store = createStore(db.database);
  b = createBench({ store, other: store, agent: AGENT, passTime: async () => {}, close: async () => {} });
});
afterAll(async () => await db.drop());

const outline = (stream: Parameters<ReturnType<typeof createInspection>["outline"]>[0], after = 0, limit = 100) =>
  createInspection(db.database).outline(stream, after, limit);

describe("the outline of a stream", () => {
  test("has every event in order, and of what was said only the beginning", async () => {
    const stream = b.stream(await b.run());
    const long = "é".repeat(10_000);
    await (await b.take(stream)).write([
      event("LlmCallCompleted", {
        stepId: "s0",
        response: {
          content: [
            { type: "toolUse", id: "u", name: "n", args: {} },
            { type: "text", text: long },
          ],
          stopReason: "end",
        },
        usage: USAGE,
      }),
      event("ToolCallStarted", { toolUseId: "u", tool: "n", args: { text: long } }),
      event("ToolCallCompleted", { toolUseId: "u", result: { rows: [1, 2] }, isError: false }),
      event("SomethingNewer", { small: 1, large: long }),
    ]);
    const [created, answered, called, result, newer] = await outline(stream);
    expect(created?.type).toBe("RunCreated");
    expect(answered).toMatchObject({
      seq: 2,
      payload: { stepId: "s0", usage: USAGE, stopReason: "end", said: "é".repeat(OUTLINE_SAID_CHARS) },
    });
    expect(answered?.payload).not.toHaveProperty("response");
    expect(called?.payload).toMatchObject({ tool: "n", said: expect.stringMatching(/^\{"text": "é{100,}/) });
    expect(result?.payload).toEqual({ toolUseId: "u", isError: false, said: '{"rows": [1, 2]}' });
    expect(newer?.payload).toEqual({ small: 1 });
    expect((await outline(stream, 2, 1)).map((e) => e.seq)).toEqual([3]);
  });

  test("says nothing of what lies in a blob, and unescapes what jsonb can't hold", async () => {
    const stream = b.stream(await b.run());
    await (await b.take(stream)).write([
      event("ToolCallCompleted", { toolUseId: "u", result: "x".repeat(PAYLOAD_INLINE_BYTES + 1), isError: false }),
      event("InputRequested", { text: "nul \u0000 \ud800 end" }),
    ]);
    const [, large, odd] = await outline(stream);
    expect(large?.payload).toEqual({ toolUseId: "u", isError: false });
    expect(odd?.payload).toEqual({ said: "nul \u0000 \ud800 end" });
  });
});
