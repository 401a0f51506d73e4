import { describe, expect, test } from "@jest/globals";
import type { Recorded, RunEvent } from "../../../shared/core/events.ts";
import type { Json } from "../../../shared/core/json.ts";
import type { WorkflowFn } from "../../../shared/core/workflow/context.ts";
import { foldRun } from "../../../shared/core/workflow/fold.ts";
import { planTick } from "../../../shared/core/workflow/plan.ts";
import { digestOfRequest, taskRequest } from "../../../shared/core/workflow/request.ts";
import { advance } from "../../../shared/core/workflow/schedule.ts";

const NOTHING_CUT = { digests: new Map<string, string>() };

const tick = { now: 0, seed: "", operationsMax: 1_000_000 };
const run = (workflow: WorkflowFn<Json>, raw: readonly Recorded<RunEvent>[]) =>
  advance({ workflow, input: null, runId: "r", depth: 0 }, foldRun(raw), tick);

const asks =
  (n: number): WorkflowFn<Json> =>
  async (c) => {
    for (let i = 0; i < n; i++) await c.ask("a", i);
    return n;
  };
/** The finished log of `asks(n)`, its end left out. */
function logOf(n: number): Recorded<RunEvent>[] {
  const raw: Recorded<RunEvent>[] = [];
  const add = (event: RunEvent): number => raw.push({ ...event, seq: raw.length + 1, recordedAt: 0 });
  add({ type: "RunCreated", process: "main", input: null });
  for (let i = 0, after = 0; i < n; i++) {
    const tasks = [taskRequest("a", i)];
    const digest = digestOfRequest({
      type: "wave",
      name: "a",
      onTaskFailure: "fail",
      timeoutMs: undefined,
      maxParallel: null,
      tasks,
    });
    const op = add({
      type: "WavePlanned",
      after,
      digest,
      name: "a",
      wave: i,
      tasks: [`w${i}t0`],
      onTaskFailure: "fail",
    });
    add({ type: "TaskSettled", op, task: 0, outcome: { status: "completed", output: i } });
    add({ type: "WaveSettled", op });
    after = op;
  }
  return raw;
}
/** The least time on the processor of several tries: a busy machine makes it no longer. */
async function bestMs(tries: number, work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries; i++) {
    const from = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(from);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}

describe("what a replay costs", () => {
  test("a replay of 10,000 operations is quick, and an operation costs the same in a long log as in a short one", async () => {
    const [short, long] = [logOf(1_000), logOf(10_000)];
    expect((await run(asks(10_000), long)).outcome).toEqual({ type: "completed", output: 10_000 });
    const one = (await bestMs(8, () => run(asks(1_000), short))) / 1_000;
    const ten = (await bestMs(4, () => run(asks(10_000), long))) / 10_000;
    console.log(`replay: ${(one * 1_000).toFixed(1)} µs an operation of 1,000, ${(ten * 1_000).toFixed(1)} of 10,000`);
    expect(ten).toBeLessThan(one * 4); // a quadratic part would show as 10; the bench measures it finer
    expect(ten * 10_000).toBeLessThan(600); // measured: 50 ms under plain Node, 120 in jest
  });

  test("one window with 10,000 operations, issued in the reverse of their recorded order, costs no more", async () => {
    const wide =
      (order: number): WorkflowFn<Json> =>
      async (c) =>
        (await Promise.all(Array.from({ length: 10_000 }, (_, i) => c.sleep(order > 0 ? i : 9_999 - i)))).length;
    const raw: Recorded<RunEvent>[] = [{ type: "RunCreated", process: "main", input: null, seq: 1, recordedAt: 0 }];
    const first = await run(wide(1), raw);
    const events = planTick(first.decisions, foldRun(raw), NOTHING_CUT).events;
    const log = [...raw, ...events.map((e, i) => ({ ...e, seq: i + 2, recordedAt: 0 }))];
    const ms = await bestMs(3, async () => {
      const again = await run(wide(-1), log);
      expect(again.decisions).toEqual([]);
      expect(again.outcome.type).toBe("blocked");
    });
    expect(ms).toBeLessThan(600);
  });

  test("a wave of n costs O(n): planning, claiming again and settling", async () => {
    const wave =
      (n: number, x: string): WorkflowFn<Json> =>
      async (c) =>
        (
          await c.wave(
            "w",
            Array.from({ length: n }, (_, i) => c.task("r", i === 0 ? x : 0)),
          )
        ).results.length; // nearly all equal
    const all = async (n: number): Promise<void> => {
      const raw: Recorded<RunEvent>[] = [{ type: "RunCreated", process: "main", input: null, seq: 1, recordedAt: 0 }];
      const add = (event: RunEvent): number => raw.push({ ...event, seq: raw.length + 1, recordedAt: 0 });
      const first = planTick((await run(wave(n, "x"), raw)).decisions, foldRun(raw), NOTHING_CUT);
      for (const event of first.events) add(event);
      const digests = new Map(first.waves.flatMap((w) => w.fresh.map((t) => [t.taskId, t.digest])));
      const { outcome } = await run(wave(n, "y"), raw);
      if (outcome.type !== "cut") throw new Error(outcome.type);
      add({ type: "StreamInvalidated", fromSeq: outcome.fromSeq, reason: outcome.reason, generation: 1 });
      const second = planTick((await run(wave(n, "y"), raw)).decisions, foldRun(raw), { digests });
      expect(second.waves[0]?.claimed).toHaveLength(n - 1);
      const op = second.events.map(add).at(-1) ?? 0;
      for (let task = 0; task < n; task++)
        add({ type: "TaskSettled", op, task, outcome: { status: "completed", output: task } });
      add({ type: "WaveSettled", op });
      expect((await run(wave(n, "y"), raw)).outcome).toEqual({ type: "completed", output: n });
    };
    await all(1_000);
    const tenTimes = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) await all(100); // one alone is too short for the clock
    };
    const hundred = (await bestMs(5, tenTimes)) / 1_000;
    const thousand = (await bestMs(5, () => all(1_000))) / 1_000;
    expect(thousand).toBeLessThan(hundred * 3);
  });
});
