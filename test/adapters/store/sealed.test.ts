// Over 300 lines: one database, read by everybody there is. Sealed runs on Postgres: of content nothing is readable with SQL, of structure all of it; what was written comes back; and who has no key learns which.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createInspection } from "../../../shared/adapters/store/inspection.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createOverview } from "../../../shared/adapters/store/overview.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { createSchedules } from "../../../shared/adapters/store/schedules.ts";
import { keysInUse } from "../../../shared/adapters/store/sealed-keys.ts";
import { EVENT_FIELDS, FACT_FIELDS } from "../../../shared/core/content.ts";
import type { Fact } from "../../../shared/core/events.ts";
import type { Json } from "../../../shared/core/json.ts";
import { OUTLINE_SAID_CHARS, PAYLOAD_INLINE_BYTES } from "../../../shared/core/limits.ts";
import { UNOPENED } from "../../../shared/core/sealing.ts";
import type { NewEvent, Store } from "../../../shared/ports/store.ts";
import { type Bench, createBench, event, fresh, uuid, wave } from "../../conformance/store/bench.ts";
import { allIn, columnsWith } from "../../support/canary.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { masterKey, sealerWith } from "../../support/sealer.ts";

const AGENT = "sealed";
const KEY = masterKey("mine");
let db: TestDatabase;
let b: Bench;
/** The same database for who has no key. */
let keyless: Store;
const benchOf = (store: Store): Bench =>
  createBench({ store, other: store, agent: AGENT, passTime: async () => {}, close: async () => {} });

beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.database, [AGENT]);
  b = benchOf(createStore({ ...db.database, sealer: sealerWith(KEY) }));
  const { sealer: _sealer, ...plain } = db.database;
  keyless = createStore(plain);
});
afterAll(async () => await db.drop());
const sealedDatabase = () => ({ ...db.database, sealer: sealerWith(KEY) });
const MISSING = { code: "encryption.key_missing", message: expect.stringContaining('"mine"') };

/** An object with the value at each path. */
function withPaths(paths: readonly string[], valueAt: (path: string) => Json): Record<string, Json> {
  const whole: Record<string, Json> = {};
  for (const path of paths) {
    const steps = path.split(".");
    let at = whole;
    for (const step of steps.slice(0, -1)) {
      at[step] ??= {};
      at = at[step] as Record<string, Json>;
    }
    at[steps.at(-1) ?? ""] = valueAt(path);
  }
  return whole;
}
const canary = (name: string, path: string): string => `canary_${name}_${path.replaceAll(".", "_")}_end`;
const CANARY = /canary_\w+?_end/g;
const NO_USAGE = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
const events: NewEvent[] = Object.entries(EVENT_FIELDS).map(([type, { content, clear }]) => ({
  type,
  payload: {
    ...withPaths([...content, ...clear], (path) =>
      path === "response.content" ? [{ type: "text", text: canary(type, path) }] : canary(type, path),
    ),
    ...(type === "LlmCallCompleted" ? { usage: NO_USAGE } : {}),
  },
}));
const facts = Object.entries(FACT_FIELDS).map(
  ([kind, { content, clear }]) =>
    ({ kind, ...withPaths([...content, ...clear], (path) => canary(kind, path)) }) as unknown as Fact,
);
const clearOf = (fields: Readonly<Record<string, { readonly clear: readonly string[] }>>): string[] =>
  Object.entries(fields).flatMap(([name, { clear }]) => clear.map((path) => canary(name, path)));

describe("what SQL can read of a sealed run", () => {
  test("of every event and fact there is: what is on the list of clear fields, and nothing else", async () => {
    const stream = b.stream(await b.run({ input: { q: canary("run", "input") } }));
    const writer = await b.take(stream);
    await writer.write(events);
    for (const [i, fact] of facts.entries()) await b.store.streams.deliver(stream, `k${i}`, fact);
    const tables = ["events", "inbox", "runs", "run_terms"];
    const found = await allIn(db.database.pool, AGENT, tables, CANARY);
    expect([...found].sort()).toEqual([...clearOf(EVENT_FIELDS), ...clearOf(FACT_FIELDS)].sort());
    const read = await b.store.streams.read(stream, 1);
    expect(read.map(({ type, payload }) => ({ type, payload }))).toEqual(events);
    expect((await b.store.streams.readInbox(stream, 0)).map((item) => item.fact)).toEqual(facts);
    expect((await b.row(stream.runId)).input).toEqual({ q: canary("run", "input") });
  });

  test("nothing of inputs, large values, outputs, errors, snapshots, what requests begin with, and children's; attributes, yes", async () => {
    const text = "canaryb";
    const large = text.repeat(Math.ceil(PAYLOAD_INLINE_BYTES / text.length) + 1);
    const runId = await b.run({ input: large, attributes: { customer: "attributecanary" } });
    const run = await b.take(b.stream(runId));
    const child = { runId: uuid(), process: "main", input: { text }, mode: "task" as const, codeHash: "h", depth: 1 };
    const start = event("ChildStarted", { after: 0, digest: "d", process: "main", input: { text }, run: child.runId });
    const planned = await b.store.streams.plan({
      lease: run.lease,
      head: run.head,
      events: [start],
      waves: [{ ...wave(0, 0), fresh: [fresh("w0t0", { text }), fresh("w0t1", large)] }],
      children: [child],
    });
    expect(planned.type).toBe("ok");
    run.head += 1;
    const task = b.stream(runId, "task:w0t0");
    const writer = await b.take(task);
    await writer.write([
      event("ToolCallCompleted", { result: large }),
      event("TaskFailed", { error: { code: "bug", message: text } }),
    ]);
    await b.store.tasks.keepSnapshot(task, { seq: 2, absorbed: 0, state: { text } });
    await b.store.tasks.keepHeader(AGENT, {
      digest: "d1:abc",
      model: "mock/script",
      system: text,
      tools: [],
      options: {},
      maxTokens: 1,
      outputSchema: null,
    });
    await run.write([event("RunCompleted", { output: { text } })], {
      type: "end",
      outcome: { status: "completed", output: { text } },
    });
    const failed = await b.take(b.stream(await b.run()));
    await failed.write([event("RunFailed", { error: { code: "bug", message: text } })], {
      type: "end",
      outcome: { status: "failed", error: { code: "bug", message: text } },
    });
    expect(await columnsWith(db.database.pool, text)).toEqual([]);
    expect(await columnsWith(db.database.pool, "attributecanary")).toEqual(["run_terms.terms", "runs.attributes"]);

    expect(await b.row(runId)).toMatchObject({ input: large, output: { text } });
    expect(await b.store.tasks.spec(task)).toMatchObject({ input: { text } });
    expect(await b.store.tasks.spec(b.stream(runId, "task:w0t1"))).toMatchObject({ input: large });
    expect(await b.store.tasks.snapshot(task)).toMatchObject({ state: { text } });
    expect((await b.store.streams.read(task, 0))[0]?.payload).toEqual({ result: large });
    expect(await createInspection(sealedDatabase()).header(AGENT, "d1:abc")).toMatchObject({ system: text });
    expect(await b.row(child.runId)).toMatchObject({ input: { text }, parent: runId });
    expect((await b.row(failed.lease.stream.runId)).error).toEqual({ code: "bug", message: text });
    const keys = await db.database.pool.query(
      `SELECT count(DISTINCT data_key)::int AS n FROM agent_${AGENT}.runs WHERE run_id = ANY ($1)`,
      [[runId, child.runId]],
    );
    expect(keys.rows).toEqual([{ n: 2 }]); // a child has its own
  });

  test("a schedule's input isn't, and its run is sealed with a key of its own", async () => {
    const schedules = createSchedules(sealedDatabase());
    const made = await schedules.create({
      name: "nightly",
      agent: AGENT,
      process: "main",
      input: { ask: "canaryc" },
      cron: "* * * * *",
      zone: "UTC",
      catchUp: "last",
      nextAt: 1_000,
      createdBy: "ann",
    });
    const due = await schedules.due([AGENT], 10);
    expect(due.schedules).toEqual([{ ...made, last: null }]);
    const run = {
      agent: AGENT,
      runId: uuid(),
      process: "main",
      input: { ask: "canaryc" },
      generation: 1,
      codeHash: "h",
    };
    expect(await schedules.fire({ id: made?.id ?? "", expected: 1_000, at: 1_000, next: null }, run)).toBe(true);
    expect(await columnsWith(db.database.pool, "canaryc")).toEqual([]);
    expect((await b.row(run.runId)).input).toEqual({ ask: "canaryc" });
    await db.database.pool.query("UPDATE toren_control.schedules SET next_at = to_timestamp(1)");
    await schedules.skip(made?.id ?? "", 1_000, 2_000, "canaryc can't be read");
    expect(await columnsWith(db.database.pool, "canaryc")).toEqual([]);
    expect((await schedules.get(made?.id ?? ""))?.problem).toBe("canaryc can't be read");
    // Who has no key sees that it is there, and leaves it to who has.
    const others = createSchedules({ ...db.database, sealer: sealerWith(masterKey("other")) });
    expect((await others.list()).map((s) => [s.name, s.input, s.problem])).toEqual([["nightly", UNOPENED, UNOPENED]]);
    await db.database.pool.query("UPDATE toren_control.schedules SET next_at = to_timestamp(1)");
    expect((await others.due([AGENT], 10)).schedules).toEqual([]);
    await expect(others.get(made?.id ?? "")).rejects.toMatchObject(MISSING);
    expect((await schedules.due([AGENT], 10)).schedules).toHaveLength(1);
  });
});

describe("people who look at a sealed run", () => {
  test("see it in outline, of texts the beginnings; and what was said", async () => {
    const stream = b.stream(await b.run());
    const long = "é".repeat(10_000);
    const content = [
      { type: "toolUse", id: "u", name: "n", args: {} },
      { type: "text", text: long },
    ];
    await (await b.take(stream)).write([
      event("LlmCallCompleted", { stepId: "s0", response: { content, stopReason: "end" }, usage: NO_USAGE }),
      event("ToolCallStarted", { toolUseId: "u", tool: "n", args: { text: long } }),
      event("ToolCallCompleted", {
        toolUseId: "u",
        result: "x".repeat(100_000),
        isError: false,
        media: [{ name: "a.png" }],
      }),
      event("TaskSettled", { op: 1, task: 0, outcome: { status: "failed", error: { code: "bug", message: "no" } } }),
      event("LlmCallFailed", { stepId: "s1", error: { code: "model.auth", message: "refused" } }),
      event("LlmCallCompleted", { stepId: "s2", response: { content: [], stopReason: "end" }, usage: NO_USAGE }),
    ]);
    const [, answered, called, large, settled, failed, silent] = await createInspection(sealedDatabase()).outline(
      stream,
      0,
      100,
    );
    expect(answered?.payload).toEqual({
      stepId: "s0",
      usage: NO_USAGE,
      servedBy: null,
      stopReason: "end",
      said: "é".repeat(OUTLINE_SAID_CHARS),
    });
    expect(called?.payload).toMatchObject({ tool: "n", said: expect.stringMatching(/^\{"text":\s?"é{100,}/) });
    expect(large?.payload).toEqual({ toolUseId: "u", isError: false, media: [{ name: "a.png" }] }); // too much to read for its beginning
    expect(settled?.payload).toMatchObject({ status: "failed", error: { code: "bug", message: "no" } });
    expect(failed?.payload).toMatchObject({ error: { code: "model.auth", message: "refused" } });
    expect(silent?.payload).not.toHaveProperty("said");
  });

  test("find it by attributes, status, process and id, and by no word of its input", async () => {
    const runId = await b.run({ process: "found", input: "findable words", attributes: { region: "eu" } });
    const list = async (filter: object) =>
      (await b.store.runs.list({ limit: 10, ...filter })).runs.map((run) => run.runId);
    expect(await list({ text: "findable" })).toEqual([]);
    for (const filter of [{ process: "found" }, { attributes: { region: "eu" } }, { text: runId.slice(0, 13) }])
      expect([filter, await list(filter)]).toEqual([filter, [runId]]);
  });

  test("export it whole: rows and the parts of large values, opened", async () => {
    const big = `${"ö".repeat(200_000)}😀${"x".repeat(300_000)}`;
    const runId = await b.run({ input: { q: "exported" } });
    await (await b.take(b.stream(runId))).write([
      event("ToolCallCompleted", { result: big }),
      event("ToolCallCompleted", { result: "y".repeat(300_000) }),
    ]);
    const rows = async (table: string): Promise<Record<string, Json>[]> => {
      const all: Record<string, Json>[] = [];
      for (let place = { key: "", number: -1 }; ; ) {
        const page = await b.store.exports.rows(AGENT, runId, { table, ...place });
        all.push(...page.map((line) => line.row as Record<string, Json>));
        const last = page.at(-1);
        if (last === undefined) return all;
        place = last;
      }
    };
    const [run] = await rows("runs");
    expect(run).toMatchObject({ run_id: runId, input: { q: "exported" } });
    expect(run).not.toHaveProperty("data_key");
    expect((await rows("events"))[0]).toMatchObject({ payload: { input: { q: "exported" } } });
    const parts = Map.groupBy(await rows("blobs"), (row) => String(row.hash));
    const joined = [...parts.values()].map((some) => JSON.parse(some.map((row) => row.text).join("")));
    expect(new Set(joined)).toEqual(new Set([big, "y".repeat(300_000)]));
    for (const some of parts.values()) expect(some.map((row) => row.part)).toEqual(some.map((_, i) => i));
  });
});

describe("without the key", () => {
  test("runs are listed with status and cost, errors with their codes; the rest names the key", async () => {
    const stream = b.stream(await b.run({ process: "shut" }));
    await (await b.take(stream)).write([event("RunFailed", { error: { code: "bug", message: "secret" } })], {
      type: "end",
      outcome: { status: "failed", error: { code: "bug", message: "secret" } },
    });
    const { runs } = await keyless.runs.list({ process: "shut", limit: 10 });
    expect(runs).toMatchObject([{ runId: stream.runId, status: "failed", error: { code: "bug", message: UNOPENED } }]);
    const overview = createOverview({ appends: db.database.appends, pool: db.database.pool });
    expect(await overview.counts(AGENT)).toMatchObject({ failed: expect.any(Number) });
    expect((await keyless.runs.streams(AGENT, stream.runId)).map((s) => s.status)).toEqual(["ended"]);
    for (const reading of [
      () => keyless.runs.get(AGENT, stream.runId),
      () => keyless.streams.read(stream, 0),
      () => keyless.runs.callEvents(AGENT, stream.runId).then(() => keyless.streams.read(stream, 0)),
      () => keyless.exports.rows(AGENT, stream.runId, { table: "events", key: "", number: -1 }),
    ])
      await expect(reading()).rejects.toMatchObject(MISSING);
  });

  test("nothing that is content can be told to it, so nothing lands in clear; what says nothing can", async () => {
    const stream = b.stream(await b.run());
    const message: Fact = { kind: "message", text: "in clear?", close: false, steer: false };
    await expect(keyless.streams.deliver(stream, "m", message)).rejects.toMatchObject(MISSING);
    await expect(
      keyless.streams.deliver(stream, "s", { kind: "signal", signal: "go", value: { a: 1 } }),
    ).rejects.toMatchObject(MISSING);
    expect(await keyless.streams.deliver(stream, "w", { kind: "hold", wave: 1 })).toMatchObject({ type: "delivered" });
    expect(
      await keyless.streams.deliver(stream, "c", { kind: "cancel", code: "run.cancelled", reason: "" }),
    ).toMatchObject({
      type: "delivered",
    });
    expect((await b.store.streams.readInbox(stream, 0)).map((item) => item.key)).toEqual(["w", "c"]);
    expect(await keyless.streams.deliver(b.stream(uuid()), "m", message)).toEqual({ type: "missing" });
  });

  test("plain runs of before go on as they are, also where a key is set now", async () => {
    const plain = benchOf(keyless);
    const stream = plain.stream(await plain.run({ input: "plaincanary" }));
    await (await b.take(stream)).write([event("SignalReceived", { signal: "s", value: "plaincanary", inboxSeq: 1 })]);
    expect((await keyless.streams.read(stream, 0)).map((e) => e.type)).toEqual(["RunCreated", "SignalReceived"]);
    expect((await b.row(stream.runId)).input).toBe("plaincanary");
    await b.store.streams.deliver(stream, "m", { kind: "signal", signal: "s", value: 1 });
    expect(await keyless.streams.readInbox(stream, 0)).toHaveLength(1);
  });

  test("which keys are in use, and whether they are here", async () => {
    const [mine] = await keysInUse(sealedDatabase());
    expect(mine).toEqual({ keyId: "mine", count: expect.any(Number), problem: null });
    expect(await keysInUse({ appends: db.database.appends, pool: db.database.pool })).toEqual([
      { keyId: "mine", count: mine?.count, problem: expect.stringContaining('"mine"') },
    ]);
  });
});

test("a value that was moved to another run, or changed, is refused, and named", async () => {
  const [from, to] = [await b.run({ input: "a" }), await b.run({ input: "b" })];
  await db.database.pool.query(
    `UPDATE agent_${AGENT}.runs SET input = (SELECT input FROM agent_${AGENT}.runs WHERE run_id = $1) WHERE run_id = $2`,
    [from, to],
  );
  await expect(b.row(to)).rejects.toMatchObject({
    code: "encryption.unreadable",
    message: expect.stringContaining(to),
  });
  expect((await b.row(from)).input).toBe("a");
});
