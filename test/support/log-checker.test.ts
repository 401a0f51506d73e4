// Each violation planted in a sound dump, and how it is reported. Over 300 lines: one list for one checker.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import { CALM } from "../sim/faults.ts";
import { PROGRAMS } from "../sim/programs.ts";
import { dumpOf, simulate } from "../sim/simulate.ts";
import { agent, role, serving, tool, workflow } from "./agents.ts";
import { type TestDatabase, testDatabase } from "./database.ts";
import {
  checkLog,
  digestOfRequest,
  dumpDatabase,
  type EventDump,
  effectOf,
  type RunDump,
  type StreamDump,
} from "./log-checker.ts";
import { createStack } from "./stack.ts";

type Deep<T> =
  T extends ReadonlyMap<infer K, infer V> ? Map<K, V> : T extends object ? { -readonly [K in keyof T]: Deep<T[K]> } : T;
type Editable = Deep<RunDump>;

/** Sound dumps of a run that ended, and of its children. */
async function family(name: string): Promise<RunDump[]> {
  const program = PROGRAMS.find((p) => p.name === name);
  if (program === undefined) throw new Error(name);
  const { world, wrong } = await simulate(1, { program, faults: CALM });
  expect(wrong).toEqual([]);
  return world.runs.map((run) => dumpOf(run as never));
}
/** A sound dump of a run that ended, or that stands still with a wave of tasks under way. */
const ended = async (name: string): Promise<Editable> => structuredClone((await family(name))[0]) as Editable;
const streamOf = (run: Editable, id: string): Deep<StreamDump> => {
  const found = run.streams.find((s) => s.streamId === id);
  if (found === undefined) throw new Error(`${id} isn't there`);
  return found;
};
const eventOf = (s: Deep<StreamDump>, type: string): Deep<EventDump> => {
  const found = s.events.find((e) => e.type === type);
  if (found === undefined) throw new Error(`${s.streamId} has no ${type}`);
  return found;
};
/** Removes or adds events, and numbers them anew. */
function renumber(s: Deep<StreamDump>, events: Deep<EventDump>[]): void {
  s.events = events.map((e, i) => ({ ...e, seq: i + 1 }));
  s.headSeq = events.length;
}
const copyAfter = (s: Deep<StreamDump>, type: string, at: string): void => {
  const copy = structuredClone(eventOf(s, type));
  const place = s.events.findIndex((e) => e.type === at);
  renumber(s, s.events.toSpliced(place + 1, 0, copy));
};
const without = (s: Deep<StreamDump>, type: string): void =>
  renumber(
    s,
    s.events.filter((e) => e !== eventOf(s, type)),
  );

/** What each violation is made of, and the words it is reported in. */
const TASKS: readonly (readonly [string, (run: Editable, task: Deep<StreamDump>) => void, RegExp])[] = [
  ["a gap in the seqs", (_, t) => t.events.splice(2, 1), /seqs are not 1…n.*\n.*head is/],
  ["a head beyond the events", (_, t) => (t.headSeq += 1), /head is \d+, and \d+ events/],
  [
    "an event after the end",
    (_, t) => copyAfter(t, "LlmCallStarted", "TaskCompleted"),
    /LlmCallStarted stands after TaskCompleted/,
  ],
  ["two answers to one question", (_, t) => copyAfter(t, "LlmCallCompleted", "LlmCallCompleted"), /answered twice/],
  ["an answer without a question", (_, t) => without(t, "LlmCallStarted"), /answered without having started/],
  [
    "a call before its answer is recorded (I4)",
    (_, t) => without(t, "LlmCallCompleted"),
    /starts before its answer is recorded/,
  ],
  ["a call that ends without a start", (_, t) => without(t, "ToolCallStarted"), /ends without having started/],
  ["a call that ends twice", (_, t) => copyAfter(t, "ToolCallCompleted", "ToolCallCompleted"), /ends twice/],
  ["a call that starts twice", (_, t) => copyAfter(t, "ToolCallStarted", "ToolCallStarted"), /starts 2 times/],
  ["a task that completes with an open call", (_, t) => without(t, "ToolCallCompleted"), /completes with an open call/],
  [
    "an ended stream that says it is parked",
    (_, t) => (t.status = "parked"),
    /status is parked, its last event TaskCompleted/,
  ],
  [
    "an outcome that the log contradicts",
    (_, t) => (t.outcome = "failed"),
    /outcome is failed, the log says completed/,
  ],
  ["a lease on an ended stream", (_, t) => (t.leaseOwner = "somebody"), /ended with lease owner/],
  ["attempts that skip one", (_, t) => (eventOf(t, "TaskStarted").payload.attempt = 2), /attempts are 2/],
];

describe("a sound log", () => {
  test.each(PROGRAMS.map((p) => p.name))("of %s has nothing wrong", async (name) => {
    expect(checkLog(await family(name))).toEqual([]);
  });
});

describe("in a task's log the checker reports", () => {
  test.each(TASKS)("%s", async (_, plant, report) => {
    const run = await ended("one task with tools");
    plant(run, streamOf(run, "task:w0t0"));
    expect(checkLog([run as RunDump]).join("\n")).toMatch(report);
  });

  test("an answer that was paid for again after a cut, unless the code wavered (I5)", async () => {
    const run = await ended("one task with tools");
    const task = streamOf(run, "task:w0t0");
    const cut = { seq: 0, type: "StreamInvalidated", payload: { fromSeq: 2, reason: "", generation: 2 } };
    renumber(task, [...task.events.slice(0, 3), cut, ...task.events.slice(1)]);
    expect(checkLog([run as RunDump]).join("\n")).toMatch(/paid for again/);
    expect(checkLog([run as RunDump], { wavering: true })).toEqual([]);
  });
});

describe("of cuts and of what people allow the checker reports", () => {
  const made = (type: string, payload: object): Deep<EventDump> => ({
    seq: 0,
    type,
    payload: payload as Deep<EventDump>["payload"],
  });
  const asked = (t: Deep<StreamDump>): Deep<EventDump> =>
    made("ApprovalRequested", { ...eventOf(t, "ToolCallStarted").payload, key: "k" });
  const resolved = (granted: boolean) => made("ApprovalResolved", { key: "k", granted, by: "ann", comment: "" });
  const cut = made("StreamInvalidated", { fromSeq: 2, reason: "edit", generation: 2 });
  /** Of a task with these events before its first call begins, or after its last event but one. */
  async function said(where: "before" | "after", more: (t: Deep<StreamDump>) => Deep<EventDump>[]): Promise<string> {
    const run = await ended("one task with tools");
    const task = streamOf(run, "task:w0t0");
    const at = where === "before" ? task.events.indexOf(eventOf(task, "ToolCallStarted")) : task.events.length - 1;
    renumber(task, task.events.toSpliced(at, 0, ...more(task)));
    return checkLog([run]).join("\n");
  }

  test("a call that begins before anybody allowed it, or after somebody didn't", async () => {
    expect(await said("before", (t) => [asked(t), resolved(true)])).not.toContain("nobody allowed it");
    expect(await said("before", (t) => [asked(t)])).toContain("nobody allowed it");
    expect(await said("before", (t) => [asked(t), resolved(false), resolved(true)])).toContain("nobody allowed it");
  });
  test("I6b: a cut of what can't be repeated that nobody decided about", async () => {
    const request = made("CutRequested", { fromSeq: 2 });
    const decided = (decision: string) => made("CutDecided", { decision });
    expect(await said("after", () => [cut])).toMatch(/post is cut, to be done again/);
    expect(await said("after", () => [request, decided("keep"), cut])).toMatch(/post is cut/);
    expect(await said("after", () => [made("CutRequested", { fromSeq: 9 }), decided("rerun"), cut])).toMatch(
      /post is cut/,
    );
    expect(await said("after", () => [request, decided("rerun"), cut])).not.toMatch(/is cut/);
  });
  test("I6a: a cut of what was shown", async () => {
    expect(await said("after", () => [made("InputRequested", { text: "hi" }), cut])).toMatch(
      /that was shown at \d+ is cut/,
    );
  });
});

describe("of a call whose worker died the checker reports", () => {
  const KEY = { key: "k" };
  const asked = (t: Deep<StreamDump>): Deep<EventDump> => {
    const { stepId, toolUseId, tool, args } = eventOf(t, "ToolCallStarted").payload;
    const payload = { stepId, toolUseId, tool, args, ...KEY, reason: "unknownOutcome" };
    return { seq: 0, type: "ApprovalRequested", payload };
  };
  const resolved = (granted: boolean): Deep<EventDump> => ({
    seq: 0,
    type: "ApprovalResolved",
    payload: { ...KEY, granted, by: "ann", comment: "", inboxSeq: 1 },
  });
  /** The first call begins again after what `between` says; its decision stands in the inbox. */
  async function begunAgain(between: (t: Deep<StreamDump>) => Deep<EventDump>[]): Promise<string> {
    const run = await ended("one task with tools");
    const task = streamOf(run, "task:w0t0");
    const start = task.events.indexOf(eventOf(task, "ToolCallStarted"));
    const again = structuredClone(eventOf(task, "ToolCallStarted"));
    const more = between(task);
    if (more.some((e) => e.type === "ApprovalResolved")) {
      task.inbox = [{ seq: 1, key: "decision:k", payload: {} }];
      task.inboxSeq = 1;
    }
    renumber(task, task.events.toSpliced(start + 1, 0, ...more, again));
    return checkLog([run]).join("\n");
  }

  test("nothing, where somebody allowed it to begin again", async () => {
    expect(await begunAgain((t) => [asked(t), resolved(true)])).toBe("");
  });
  test("a beginning that nobody allowed, or that was denied", async () => {
    expect(await begunAgain((t) => [asked(t)])).toMatch(/starts 2 times/);
    expect(await begunAgain((t) => [asked(t), resolved(false)])).toMatch(/starts 2 times/);
    expect(await begunAgain(() => [resolved(true)])).toMatch(/starts 2 times/);
  });
});

const RUNS: readonly (readonly [string, (run: Editable, own: Deep<StreamDump>) => void, RegExp])[] = [
  ["a gap in the inbox", (_, s) => s.inbox.shift(), /inbox is not 1…n/],
  ["an inbox shorter than its number", (_, s) => s.inbox.pop(), /inbox_seq is \d+, and \d+ facts/],
  [
    "a key that was posted twice",
    (_, s) => ((s.inbox[1] as { key: string }).key = s.inbox[0]?.key ?? ""),
    /posted twice/,
  ],
  [
    "a fact absorbed twice (I3)",
    (_, s) => copyAfter(s, "WaveSettled", "WaveSettled"),
    /absorbed as 1 1[\s\S]*ends twice/,
  ],
  ["a fact absorbed out of order", (_, s) => (eventOf(s, "WaveSettled").payload.inboxSeq = 2), /absorbed as 2 2/],
  ["a task that settles twice", (_, s) => copyAfter(s, "TaskSettled", "TaskSettled"), /settles twice/],
  ["a settlement of nothing", (_, s) => (eventOf(s, "TaskSettled").payload.op = 99), /operation 99, which isn't there/],
  [
    "a window that nothing opened",
    (_, s) => ((s.events.findLast((e) => e.type === "WavePlanned") as Deep<EventDump>).payload.after = 77),
    /window 77 was opened by no/,
  ],
  ["another beginning than RunCreated", (_, s) => without(s, "RunCreated"), /begins with WavePlanned/],
  [
    "a status that the streams contradict",
    (run) => (run.status = "running"),
    /status is running, its streams say completed/,
  ],
];

describe("of a decision about a plan the checker reports", () => {
  const asking = (tasks: string[], standing: number): Deep<EventDump> => ({
    seq: 0,
    type: "CutRequested",
    payload: { fromSeq: 2, instead: { tasks, standing } },
  });
  const decided = (decision: string): Deep<EventDump> => ({
    seq: 0,
    type: "CutDecided",
    payload: { decision, inboxSeq: 1 },
  });
  const givenUp: Deep<EventDump> = { seq: 0, type: "TasksGivenUp", payload: { tasks: ["w0t0"], generation: 2 } };
  /** What is said of a run whose log begins so; how far its inbox was read is out of place in it, and not looked at. */
  async function said(...events: Deep<EventDump>[]): Promise<string> {
    const run = await ended("waves");
    const own = streamOf(run, "run");
    renumber(own, own.events.toSpliced(1, 0, ...events));
    return checkLog([run as RunDump])
      .filter((what) => /given up|kept|decision/.test(what))
      .join("\n");
  }
  test.each<[string, RegExp, Deep<EventDump>[]]>([
    ["nothing, where it was asked and let be done", /^$/, [asking(["w0t0"], 0), decided("rerun"), givenUp]],
    ["nothing, where it was kept", /^$/, [asking(["w0t0"], 1), decided("keep")]],
    ["what nobody decided", /nobody decided so/, [asking(["w0t0"], 1), givenUp]],
    ["what somebody kept", /nobody decided so/, [asking(["w0t0"], 1), decided("keep"), givenUp]],
    ["what another question was about", /nobody was asked about it/, [asking(["w7t0"], 1), decided("rerun"), givenUp]],
    ["a decision without a question", /nothing was asked/, [decided("rerun")]],
    ["a decision to keep what can't answer", /nothing recorded could/, [asking(["w0t0"], 0), decided("keep")]],
  ])("%s", async (_, report, events) => {
    expect(await said(...events)).toMatch(report);
  });
});

describe("in a run's log the checker reports", () => {
  test.each(RUNS)("%s", async (_, plant, report) => {
    const run = await ended("waves");
    plant(run, streamOf(run, "run"));
    expect(checkLog([run as RunDump]).join("\n")).toMatch(report);
  });
});

const nth = (s: Deep<StreamDump>, type: string, n: number): Deep<EventDump> =>
  s.events.filter((e) => e.type === type)[n] as Deep<EventDump>;
const PARTS: readonly (readonly [string, (run: Editable, own: Deep<StreamDump>) => void, RegExp])[] = [
  ["a seal that is elsewhere", (_, s) => (s.sealedSeq -= 1), /events are sealed, its last part begins at/],
  ["a count of facts that isn't its", (_, s) => (s.sealedFacts += 1), /facts are sealed, its last part says/],
  ["a part that is left out", (_, s) => (nth(s, "RunContinued", 1).payload.part = 3), /part 3, it is 2/],
  [
    "a cursor that is put back",
    (_, s) => (nth(s, "RunContinued", 0).payload.absorbed = 0),
    /facts were absorbed, it says 0/,
  ],
  [
    "a wave's number that is used again",
    (_, s) => (nth(s, "RunContinued", 0).payload.nextWave = 0),
    /is next, it says 0/,
  ],
  [
    "a signal that it never had",
    (_, s) => (nth(s, "RunContinued", 0).payload.signals = [{ signal: "go", value: "a", inboxSeq: 99 }]),
    /it keeps signals 99/,
  ],
  [
    "a key of an earlier part",
    (_, s) => (nth(s, "StepStarted", 1).payload.idempotencyKey = nth(s, "StepStarted", 0).payload.idempotencyKey),
    /the key of one of an earlier part/,
  ],
  [
    "a window of an earlier part",
    (_, s) => (nth(s, "StepStarted", 1).payload.after = nth(s, "StepStarted", 0).seq),
    /was opened by no operation/,
  ],
  [
    "a task of an earlier part that goes on untold",
    (run) => Object.assign(streamOf(run, "task:w0t0"), { status: "parked", inbox: [] }),
    /w0t0 is of an earlier part, and wasn't told/,
  ],
];

describe("of a run that went on anew the checker reports", () => {
  test.each(PARTS)("%s", async (_, plant, report) => {
    const run = await ended("a run that goes on anew");
    plant(run, streamOf(run, "run"));
    expect(checkLog([run as RunDump]).join("\n")).toMatch(report);
  });
});

/** The run "waves" as it was when its first wave was under way: two tasks ended, one parked or open. */
async function underWay(): Promise<Editable> {
  const run = await ended("waves");
  const own = streamOf(run, "run");
  renumber(own, own.events.slice(0, 2));
  Object.assign(own, {
    status: "parked",
    outcome: null,
    wait: "wave",
    wakeAt: null,
    inbox: [],
    inboxSeq: 0,
    absorbed: 0,
  });
  run.streams = run.streams.filter((s) => s.streamId === "run" || s.streamId.startsWith("task:w0"));
  run.waves = [{ wave: 0, onFailure: "fail", unsettled: 1, signalled: false }];
  run.status = "running";
  const open = streamOf(run, "task:w0t0");
  renumber(open, open.events.slice(0, 2));
  Object.assign(open, { status: "running", outcome: null, leaseOwner: "somebody", wakeAt: 5 });
  return run;
}

const WAKES: readonly (readonly [
  string,
  (run: Editable, own: Deep<StreamDump>, task: Deep<StreamDump>) => void,
  RegExp,
])[] = [
  [
    "a ready stream without a clock",
    (_, _s, t) => Object.assign(t, { status: "ready", leaseOwner: null, wakeAt: null }),
    /w0t0: nothing wakes it: ready/,
  ],
  [
    "a timer without a time",
    (run, s) => Object.assign(s, { wait: "timer" }) && Object.assign(run, { status: "waitingTimer" }),
    /run: nothing wakes it: parked, waits for timer/,
  ],
  ["a park without a reason", (_, s) => (s.wait = null), /nothing wakes it: parked, waits for null/],
  [
    "a wave that nobody will settle",
    (run) => Object.assign(run.waves[0] as object, { signalled: true }),
    /nothing wakes it: parked, waits for wave/,
  ],
  [
    "a wave whose count is off",
    (run) => Object.assign(run.waves[0] as object, { unsettled: 2 }),
    /counts 2 tasks, 1 are open/,
  ],
  [
    "a wave that is over and rang no bell",
    (run, _s, t) => Object.assign(t, { status: "ended" }) && Object.assign(run.waves[0] as object, { unsettled: 0 }),
    /its run was not told/,
  ],
  ["a task that another wave counts", (_, _s, t) => (t.wave = 7), /wave 0 doesn't count task:w0t0/],
  [
    "a park that overlooked a fact (I10)",
    (_, s) => Object.assign(s, { inboxSeq: 1, inbox: [{ seq: 1, key: "cancel", payload: {} }] }),
    /parked having seen 0 of 1/,
  ],
  [
    "a claim that nobody can make any more",
    (run, s, t) => {
      Object.assign(t, { status: "parked", wait: "claim", leaseOwner: null, wakeAt: null });
      Object.assign(s, { status: "ended", outcome: "completed" });
      run.status = "completed";
    },
    /w0t0: nothing wakes it: parked, waits for claim/,
  ],
];

describe("of a run that is under way the checker", () => {
  test("says nothing when somebody will end what it waits for", async () => {
    expect(checkLog([(await underWay()) as RunDump])).toEqual([]);
  });
  test("takes a decision about a cut for a person's, and wants the status to say so", async () => {
    const run = await underWay();
    Object.assign(streamOf(run, "task:w0t0"), { status: "parked", wait: "cut", leaseOwner: null, wakeAt: null });
    expect(checkLog([run as RunDump])).toEqual([
      expect.stringMatching(/status is running, its streams say waitingCut/),
    ]);
  });
  test.each(WAKES)("reports %s", async (_, plant, report) => {
    const run = await underWay();
    plant(run, streamOf(run, "run"), streamOf(run, "task:w0t0"));
    expect(checkLog([run as RunDump]).join("\n")).toMatch(report);
  });
});

describe("on a real Postgres, beside the books of the world outside", () => {
  let db: TestDatabase;
  let dump: RunDump[];
  const posted: string[] = [];
  const keys: string[] = [];
  const model = createScriptedModel((_, n) =>
    n === 0 ? { tools: ["post", "book"].map((name) => ({ name, args: { n } })) } : "done",
  );
  beforeAll(async () => {
    db = await testDatabase();
    await migrate(db.database, ["books"]);
    const post = tool("post", (args) => void posted.push(effectOf("post", args as never)), { effects: "external" });
    const book = tool("book", (_, ctx) => void keys.push(ctx.idempotencyKey), {
      effects: "external",
      idempotency: "keyed",
    });
    const main = workflow(async (ctx) => await ctx.ask("worker", "go"));
    const agents = serving(agent("books", [role("worker", { tools: [post, book] })], main));
    const stack = createStack({ database: db.database, agents, model });
    const runId = await stack.start("books", "go");
    expect((await stack.drive({ agent: "books", runId }))?.status).toBe("completed");
    stack.stop();
    dump = await dumpDatabase(db.database.pool, "books");
  });
  afterAll(async () => await db.drop());

  const ledger = () =>
    model.ledger.map(({ request, answered }, n) => {
      const completed = dump
        .flatMap((r) => r.streams.flatMap((s) => s.events))
        .filter((e) => e.type === "LlmCallCompleted");
      return { digest: digestOfRequest(request), answered, usage: completed[n]?.payload.usage as never };
    });
  const effects = () => ({
    keyed: new Map(keys.map((key) => [key, 1])),
    unkeyed: new Map(posted.map((name) => [name, 1])),
  });

  test("a sound run has nothing wrong", () => {
    expect(dump).toHaveLength(1);
    expect(checkLog(dump, { ledger: ledger(), effects: effects() })).toEqual([]);
  });

  test.each([
    [
      "a question that was never announced",
      () => ({ ledger: [...ledger(), { ...ledger()[0], digest: "d1:other" }] }),
      /asked 1 times, started 0/,
    ],
    [
      "an answer nobody paid for",
      () => ({ ledger: ledger().map((e) => ({ ...e, answered: false })) }),
      /recorded 1 times, answered 0/,
    ],
    [
      "usage that differs from the books",
      () => ({ ledger: ledger().map((e) => ({ ...e, usage: { ...(e.usage as object), output: 1_000 } })) }),
      /tokens on record/,
    ],
    [
      "a keyed effect that happened twice",
      () => ({ effects: { ...effects(), keyed: new Map(keys.map((key) => [key, 2])) } }),
      /took effect 2 times/,
    ],
    [
      "a keyed effect that no log announced",
      () => ({ effects: { ...effects(), keyed: new Map([...keys, "x"].map((key) => [key, 1])) } }),
      /key x took effect and is in no log/,
    ],
    [
      "an effect without a key that no log announced",
      () => ({ effects: { ...effects(), unkeyed: new Map([...effects().unkeyed, ["y", 1]]) } }),
      /y took effect and is in no log/,
    ],
    [
      "a result without an effect",
      () => ({ effects: { ...effects(), unkeyed: new Map() } }),
      /post is recorded as done and took no effect/,
    ],
    [
      "a result without a keyed effect",
      () => ({ effects: { ...effects(), keyed: new Map() } }),
      /book is recorded as done and took no effect/,
    ],
  ])("reports %s", (_, books, report) => {
    expect(checkLog(dump, books() as never).join("\n")).toMatch(report);
  });
});
