import { describe, expect, test } from "@jest/globals";
import { stepKey } from "../../../shared/core/workflow/decide.ts";
import { foldRun, type RunHistory } from "../../../shared/core/workflow/fold.ts";
import { type ClaimablePlan, claims, planTick } from "../../../shared/core/workflow/plan.ts";
import type { WaveDecision } from "../../../shared/core/workflow/schedule.ts";

/** `a:p b:q`: task a of content p, task b of content q. */
const cutPlan = (name: string, tasks: string): ClaimablePlan => ({
  name,
  tasks: tasks.split(" ").map((t) => ({ id: t.split(":")[0] ?? "", digest: t.split(":")[1] ?? "" })),
});
const wanted = (name: string, contents: string): { name: string; tasks: { digest: string }[] } => ({
  name,
  tasks: contents.split(" ").map((digest) => ({ digest })),
});
const claim = (cut: ClaimablePlan[], name: string, contents: string, ...taken: string[]): (string | null)[] =>
  claims(cut, new Set(taken), wanted(name, contents));

describe("claims", () => {
  test("by position: a place keeps its own answer, even among equals", () => {
    expect(claim([cutPlan("w", "a:p b:p c:p")], "w", "p p p")).toEqual(["a", "b", "c"]);
    expect(claim([cutPlan("v", "z:p"), cutPlan("w", "a:q b:p")], "w", "x p")).toEqual([null, "b"]);
  });
  test("C1 before C2: a place's own task isn't taken by content from elsewhere", () => {
    expect(claim([cutPlan("w", "a:p b:q")], "w", "q q")).toEqual([null, "b"]);
    expect(claim([cutPlan("w", "a:p b:q c:q")], "w", "q q")).toEqual(["c", "b"]);
  });
  test("by content: over plans of any name, the oldest first", () => {
    expect(claim([cutPlan("v", "a:p b:q"), cutPlan("w", "c:q")], "new", "q q p r")).toEqual(["b", "c", "a", null]);
  });
  test("insert and reorder: only what is new is new", () => {
    expect(claim([cutPlan("w", "a:p b:q c:r")], "w", "n r q p")).toEqual([null, "c", "b", "a"]);
  });
  test("C3: never a task of an effective plan, and each once, however many plans listed it", () => {
    const cut = [cutPlan("w", "a:p b:q"), cutPlan("w", "a:p c:q")];
    expect(claim(cut, "w", "p q", "a")).toEqual([null, "b"]);
    expect(claim(cut, "w", "p p")).toEqual(["a", null]);
  });
  test("no task is claimed for another content", () => {
    expect(claim([cutPlan("w", "a:p")], "w", "q")).toEqual([null]);
    expect(claim([], "w", "q")).toEqual([null]);
  });
});

const decision = (seq: number, name: string, contents: string, maxParallel: number | null = null): WaveDecision => ({
  type: "wave",
  seq,
  after: 0,
  digest: `d${name}`,
  name,
  onTaskFailure: "collect",
  maxParallel,
  tasks: contents ? contents.split(" ").map((digest) => ({ role: "r", input: digest, digest })) : [],
});

describe("a tick's plan", () => {
  const fresh = foldRun([{ type: "RunCreated", process: "main", input: null, seq: 1, recordedAt: 0 }]);
  const afterCut: RunHistory = foldRun([
    { type: "RunCreated", process: "main", input: null, seq: 1, recordedAt: 0 },
    {
      type: "WavePlanned",
      after: 0,
      digest: "x",
      name: "w",
      wave: 0,
      tasks: ["w0t0", "w0t1"],
      onTaskFailure: "fail",
      seq: 2,
      recordedAt: 0,
    },
    { type: "StreamInvalidated", fromSeq: 2, reason: "edited", generation: 1, seq: 3, recordedAt: 0 },
  ]);
  const digests = new Map([
    ["w0t0", "p"],
    ["w0t1", "q"],
  ]);

  test("ids read w<wave>t<place>; requests go where the ids do", () => {
    const { events, waves } = planTick([decision(2, "a", "p q"), decision(3, "b", "r", 4)], fresh, {
      digests: new Map(),
    });
    expect(events).toMatchObject([
      { wave: 0, tasks: ["w0t0", "w0t1"] },
      { wave: 1, tasks: ["w1t0"] },
    ]);
    expect(events.map((e) => "maxParallel" in e && e.maxParallel)).toEqual([false, 4]);
    expect(waves.map((w) => w.maxParallel)).toEqual([null, 4]);
    expect(waves[1]).toEqual({
      wave: 1,
      onTaskFailure: "collect",
      maxParallel: 4,
      claimed: [],
      fresh: [{ taskId: "w1t0", role: "r", input: "r", digest: "r" }],
    });
  });
  test("two waves of one tick don't claim the same task", () => {
    const { events, waves } = planTick([decision(4, "other", "q n"), decision(5, "w", "p q")], afterCut, { digests });
    expect(events).toMatchObject([
      { wave: 1, tasks: ["w0t1", "w1t1"] },
      { wave: 2, tasks: ["w0t0", "w2t1"] },
    ]);
    expect(waves.map((w) => [w.claimed, w.fresh.map((t) => t.taskId)])).toEqual([
      [["w0t1"], ["w1t1"]],
      [["w0t0"], ["w2t1"]],
    ]);
  });
  test("an empty wave is an event and no row", () => {
    const { events, waves } = planTick([decision(2, "a", "")], fresh, { digests: new Map() });
    expect(events).toMatchObject([{ type: "WavePlanned", tasks: [] }]);
    expect(waves).toEqual([]);
  });
  test("a task whose content isn't known is not claimed", () => {
    expect(planTick([decision(4, "w", "p q")], afterCut, { digests: new Map() }).waves[0]?.claimed).toEqual([]);
  });
});

test("step keys differ by run, name, how-manieth and part, and by nothing else; they are a contract, as digests are", () => {
  expect(stepKey("r", "s", 0)).toBe("qIG63Vw_qZah_FX5xVTC7tn3a8wuPyc6G_ZrXyioQI8");
  expect(stepKey("r", "s", 0, 1)).toBe("PaTQjOJcrGuNRizD60s5jbZfi1w31YwdNdt3wB7a0SU");
  expect(stepKey("r", "s", 0)).toBe(stepKey("r", "s", 0));
  expect(new Set([stepKey("r", "s", 0), stepKey("r", "s", 1), stepKey("r", "t", 0), stepKey("q", "s", 0)]).size).toBe(
    4,
  );
});

describe("C5: recorded tasks that answer for others, where somebody decided so", () => {
  const created = { type: "RunCreated", process: "main", input: null, seq: 1, recordedAt: 0 } as const;
  /** A log whose plans `name: a:p b:q` were all cut. */
  function cutLog(...plans: [name: string, tasks: string][]): { history: RunHistory; digests: Map<string, string> } {
    const digests = new Map<string, string>();
    const planned = plans.map(([name, text], i) => {
      const { tasks } = cutPlan(name, text);
      for (const task of tasks) digests.set(task.id, task.digest);
      const ids = tasks.map((task) => task.id);
      const plan = { after: 0, digest: name, name, wave: i, tasks: ids, onTaskFailure: "fail" } as const;
      return { type: "WavePlanned", ...plan, seq: i + 2, recordedAt: 0 } as const;
    });
    const cut = { type: "StreamInvalidated", fromSeq: 2, reason: "edited", generation: 2 } as const;
    return { history: foldRun([created, ...planned, { ...cut, seq: plans.length + 2, recordedAt: 0 }]), digests };
  }
  /** `role/content` for each task of a wave. */
  const asks = (seq: number, name: string, text: string): WaveDecision => ({
    ...decision(seq, name, text),
    tasks: text.split(" ").map((task) => {
      const [role = "", digest = ""] = task.split("/");
      return { role, digest, input: digest };
    }),
  });
  const roles = (text: string) => new Map(text.split(" ").map((t) => t.split(":") as [string, string]));
  const held = (
    of: { history: RunHistory; digests: Map<string, string> },
    keeping: string,
    ...waves: WaveDecision[]
  ): string[] => {
    const { events } = planTick(waves, of.history, {
      digests: of.digests,
      keeping: keeping === "" ? new Map() : roles(keeping),
    });
    return events.map((e) => (e.type === "WavePlanned" ? e.tasks.join(" ") : ""));
  };

  test("a place keeps its own, whatever it asks now; the others go to the oldest of their role", () => {
    const of = cutLog(["w", "a:p b:q"], ["v", "c:r"]);
    expect(held(of, "a:x b:x c:x", asks(5, "w", "x/p2 x/q2"))).toEqual(["a b"]);
    expect(held(of, "a:x b:x c:x", asks(5, "new", "x/p2 x/q2"))).toEqual(["a b"]);
    expect(held(of, "a:y b:x c:x", asks(5, "new", "x/1 y/2 x/3 x/4"))).toEqual(["b a c w2t3"]);
  });

  test("content first, over every wave of the tick: nobody's own answer is given to another", () => {
    const of = cutLog(["w", "a:p"]);
    expect(held(of, "a:x", asks(4, "w", "x/other"), asks(5, "v", "x/p"))).toEqual(["w1t0", "a"]);
  });

  test("never for another role, never a task twice, never one that isn't among those that may", () => {
    const of = cutLog(["w", "a:p b:q"]);
    expect(held(of, "a:x b:x", asks(4, "w", "y/1 y/2"))).toEqual(["w1t0 w1t1"]);
    expect(held(of, "a:x b:x", asks(4, "w", "x/1"), asks(5, "w", "x/2 x/3"))).toEqual(["a", "w2t0 b"]);
    expect(held(of, "b:x", asks(4, "w", "x/1 x/2"))).toEqual(["w1t0 b"]);
    of.digests.delete("a"); // it was told to stop
    expect(held(of, "a:x b:x", asks(4, "w", "x/1 x/2"))).toEqual(["w1t0 b"]);
  });

  test("is told with what it answers for; without a decision there is none", () => {
    const of = cutLog(["w", "a:p"]);
    const wave = asks(4, "w", "x/1 x/2");
    const plan = planTick([wave], of.history, { digests: of.digests, keeping: roles("a:x") });
    expect(plan.standIns).toEqual([{ task: "a", role: "x", input: "1" }]);
    expect(plan.waves).toMatchObject([{ claimed: ["a"], fresh: [{ taskId: "w1t1", input: "2" }] }]);
    expect(held(of, "", wave)).toEqual(["w1t0 w1t1"]);
  });
});
