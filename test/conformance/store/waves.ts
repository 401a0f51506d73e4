import { describe, expect, test } from "@jest/globals";
import { NO_BUDGET } from "../../../shared/core/task/ledger.ts";
import type { StreamRef } from "../../../shared/ports/store.ts";
import { type Bench, completed, ERROR, event, failed, fresh, terminal, type Writer, wave } from "./bench.ts";

/** The bells that rang in a run's inbox. */
const bells = async (b: Bench, runId: string): Promise<{ wave: number; broke: boolean }[]> =>
  (await b.store.streams.readInbox(b.stream(runId), 0)).flatMap(({ fact }) =>
    fact.kind === "wave" ? [{ wave: fact.wave, broke: fact.broke }] : [],
  );

export function waveSuite(get: () => Bench): void {
  describe("waves", () => {
    test("one plan brings events, waves, specs and streams; waves without a task are complete", async () => {
      const b = get();
      const runId = await b.run();
      const run = await b.take(b.stream(runId));
      expect(await run.plan(wave(0, 2), wave(1, 0), wave(2, 1, { onTaskFailure: "collect" }))).toEqual([1]);
      expect(await b.types(b.stream(runId))).toEqual(["RunCreated", ...Array(3).fill("WavePlanned")]);
      const rows = await b.store.runs.streams(b.agent, runId);
      expect(rows.slice(1).map((r) => [r.streamId, r.status, r.role, r.wave, r.headSeq])).toEqual([
        ["task:w0t0", "ready", "worker", 0, 0],
        ["task:w0t1", "ready", "worker", 0, 0],
        ["task:w2t0", "ready", "worker", 2, 0],
      ]);
      expect(await b.store.tasks.digests(b.agent, runId)).toEqual(
        ["w0t0", "w0t1", "w2t0"].map((taskId) => ({ taskId, digest: `d:${taskId}` })),
      );
      expect(await b.store.tasks.spec(b.stream(runId, "task:w0t1"))).toEqual({
        ...fresh("w0t1"),
        session: false,
        wave: { number: 0, maxParallel: null },
        budget: NO_BUDGET,
      });
      expect(await b.store.tasks.spec(b.stream(runId, "task:w9t9"))).toBeNull();
      await run.write([event("A")]); // the plan moved the head by its own events
    });

    test("how many of a wave's tasks are worked on at once is read with each; a claimed one counts in its new wave", async () => {
      const b = get();
      const runId = await b.run();
      const run = await b.take(b.stream(runId));
      await run.plan(wave(0, 2, { maxParallel: 5 }), wave(1, 1));
      const waveOf = async (taskId: string) => (await b.store.tasks.spec(b.stream(runId, `task:${taskId}`)))?.wave;
      expect(await waveOf("w0t1")).toEqual({ number: 0, maxParallel: 5 });
      expect(await waveOf("w1t0")).toEqual({ number: 1, maxParallel: null });
      await run.plan(wave(2, 0, { claimed: ["w0t1"], maxParallel: 3 }));
      expect(await waveOf("w0t0")).toEqual({ number: 0, maxParallel: 5 });
      expect(await waveOf("w0t1")).toEqual({ number: 2, maxParallel: 3 });
    });

    test("I12: a plan under a lost lease changes nothing", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const zombie = await b.take(stream, { leaseMs: 1 });
      await b.passTime(5);
      await b.take(stream);
      const { lease, head } = zombie;
      expect(await b.store.streams.plan({ lease, head, events: [event("WavePlanned")], waves: [wave(0, 2)] })).toEqual({
        type: "conflict",
      });
      expect(await b.types(stream)).toEqual(["RunCreated"]);
      expect(await b.store.tasks.digests(b.agent, stream.runId)).toEqual([]);
    });

    test("a wave rings once, with the last task that settles, however they settle", async () => {
      const b = get();
      const { runId, run, tasks } = await b.planned(12);
      await run.write([], { type: "park", absorbed: 0, wait: "wave", wakeAt: null });
      const answers = await Promise.all(tasks.map((t) => b.end(t)));
      expect(answers.filter((a) => a.rang)).toHaveLength(1);
      expect(await bells(b, runId)).toEqual([{ wave: 0, broke: false }]);
      expect((await b.streamRow(b.stream(runId))).status).toBe("ready");
    });

    test("under `fail` the first failure rings, and nothing after it; under `collect` only the last", async () => {
      const b = get();
      const fail = await b.planned(3, "fail");
      const collect = await b.planned(3, "collect");
      const settle = async (tasks: StreamRef[]) => {
        const rang: boolean[] = [];
        for (const [i, t] of tasks.entries()) rang.push((await b.end(t, i < 2 ? failed : completed())).rang);
        return rang;
      };
      expect(await settle(fail.tasks)).toEqual([true, false, false]);
      expect(await bells(b, fail.runId)).toEqual([{ wave: 0, broke: true }]);
      expect(await settle(collect.tasks)).toEqual([false, false, true]);
      expect(await bells(b, collect.runId)).toEqual([{ wave: 0, broke: false }]);
    });

    test("a bell in the same moment as the run's own append is not lost", async () => {
      const b = get();
      for (let i = 0; i < 8; i++) {
        const { runId, run, tasks } = await b.planned(2);
        const writers = await Promise.all(tasks.map((t) => b.take(t)));
        const park = { type: "park", absorbed: 0, wait: "wave", wakeAt: null } as const;
        const [parked] = await Promise.all([
          run.write([event("A")], park),
          ...writers.map((w) => w.write([terminal(completed())], completed())),
        ]);
        expect(await bells(b, runId)).toHaveLength(1);
        expect((await b.streamRow(b.stream(runId))).status).toBe(parked.status === "parked" ? "ready" : "running");
      }
    });

    test("outcomes are those of ended tasks, as they ended", async () => {
      const b = get();
      const { runId, tasks } = await b.planned(4, "collect");
      const cancelled = {
        type: "end",
        outcome: { status: "cancelled", error: { ...ERROR, code: "task.cancelled" } },
      } as const;
      for (const [i, next] of [completed({ a: "x".repeat(300_000) }), failed, cancelled].entries())
        await b.end(tasks[i] as StreamRef, next);
      const outcomes = await b.store.tasks.outcomes(b.agent, runId, ["w0t0", "w0t1", "w0t2", "w0t3"]);
      expect(outcomes.sort((x, y) => (x.taskId < y.taskId ? -1 : 1))).toEqual([
        { taskId: "w0t0", outcome: { status: "completed", output: { a: "x".repeat(300_000) } } },
        { taskId: "w0t1", outcome: { status: "failed", error: ERROR } },
        { taskId: "w0t2", outcome: { status: "failed", error: { ...ERROR, code: "task.cancelled" } } },
      ]);
      const rows = await b.store.runs.streams(b.agent, runId);
      expect(rows.map((r) => r.outcome)).toEqual([null, "completed", "failed", "cancelled", null]);
      expect(await b.store.tasks.open(b.agent, runId)).toEqual([{ taskId: "w0t3", wait: null }]);
    });
  });

  describe("claims", () => {
    test("a re-plan counts claimed tasks in the new wave only: ended ones at once, others when they settle", async () => {
      const b = get();
      const { runId, run, tasks } = await b.planned(3);
      await b.end(tasks[0] as StreamRef);
      const running = await b.take(tasks[1] as StreamRef);
      expect(await run.plan(wave(1, 1, { claimed: ["w0t0", "w0t1"] }))).toEqual([]);
      expect((await running.write([terminal(completed())], completed())).rang).toBe(false);
      expect((await b.end(b.stream(runId, "task:w1t0"))).rang).toBe(true);
      expect((await b.end(tasks[2] as StreamRef)).rang).toBe(false); // what was left of wave 0 rings for nobody: its count still holds the moved ones
      expect(await bells(b, runId)).toEqual([{ wave: 1, broke: false }]);
    });

    test("a wave of tasks that had all ended is complete; so is one with a failure under `fail`", async () => {
      const b = get();
      const { run, tasks } = await b.planned(3, "collect");
      await b.end(tasks[0] as StreamRef);
      await b.end(tasks[1] as StreamRef, failed);
      const claims = [
        wave(1, 0, { claimed: ["w0t0"] }),
        wave(2, 0, { claimed: ["w0t1", "w0t2"], onTaskFailure: "fail" }),
      ];
      expect(await run.plan(...claims)).toEqual([1, 2]);
      expect((await b.end(tasks[2] as StreamRef)).rang).toBe(false);
    });

    test("a claimed task that hasn't ended is told, and woken if it was parked", async () => {
      const b = get();
      const { run, tasks } = await b.planned(2);
      const [parked, running] = tasks as [StreamRef, StreamRef];
      await b.store.streams.deliver(parked, "hold", { kind: "hold", wave: 0 });
      await (await b.take(parked)).write([event("FactIgnored")], {
        type: "park",
        absorbed: 1,
        wait: "claim",
        wakeAt: null,
      });
      expect(await b.store.tasks.open(b.agent, run.lease.stream.runId)).toEqual([
        { taskId: "w0t0", wait: "claim" },
        { taskId: "w0t1", wait: null },
      ]);
      const writer = await b.take(running);
      await run.plan(wave(1, 0, { claimed: ["w0t0", "w0t1"] }));
      expect(await b.streamRow(parked)).toMatchObject({ status: "ready", wave: 1, wakeAt: expect.any(Number) });
      expect((await b.store.streams.readInbox(parked, 1)).map((i) => [i.seq, i.fact])).toEqual([
        [2, { kind: "claim", wave: 1 }],
      ]);
      expect((await writer.write([event("A")])).inboxSeq).toBe(1);
    });

    test("I9: a re-plan racing with settles: each wave is decided exactly once, by its plan or by its bell", async () => {
      const b = get();
      const race = async (): Promise<void> => {
        const { runId, run, tasks } = await b.planned(4);
        const writers = await Promise.all(tasks.map((t, i) => b.take(t, { store: i % 2 ? b.store : b.other })));
        const ids = tasks.map((t) => t.streamId.slice(5));
        const settle = (w: Writer) => w.write([terminal(completed())], completed());
        const complete: number[] = [];
        const replan = async (): Promise<void> => {
          for (let n = 1; n <= 3; n++) complete.push(...(await run.plan(wave(n, 0, { claimed: ids }))));
        };
        await Promise.all([...writers.map(settle), replan()]);
        const rung = (await bells(b, runId)).map((bell) => bell.wave);
        expect([...complete, ...rung].filter((n) => n === 3)).toEqual([3]);
        expect(new Set(rung).size).toBe(rung.length);
      };
      for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 6 }, race));
    });
  });

  describe("the end of a run", () => {
    test("cancels what is unsettled, wakes what is parked, and rings no more", async () => {
      const b = get();
      const { runId, run, tasks } = await b.planned(4);
      const [done, parked, running, ready] = tasks as [StreamRef, StreamRef, StreamRef, StreamRef];
      await b.end(done);
      await (await b.take(parked)).write([], { type: "park", absorbed: 0, wait: "claim", wakeAt: null });
      const writer = await b.take(running);
      await run.write([event("RunCompleted", { output: 1 })], completed(1));
      const told = await Promise.all(tasks.map((t) => b.store.streams.readInbox(t, 0)));
      const cancel = { kind: "cancel", code: "task.cancelled", reason: expect.any(String) };
      expect(told.map((items) => items.map((i) => i.fact))).toEqual([[], [cancel], [cancel], [cancel]]);
      expect(await b.streamRow(parked)).toMatchObject({ status: "ready", wakeAt: expect.any(Number) });
      expect((await b.streamRow(ready)).status).toBe("ready");
      expect((await writer.write([event("A")])).inboxSeq).toBe(1);
      for (const t of [parked, ready]) expect((await b.end(t)).rang).toBe(false);
      expect((await writer.write([terminal(completed())], completed())).rang).toBe(false);
      expect(await bells(b, runId)).toEqual([]);
    });

    test("beside settling and parking tasks: each of them settled, or was told", async () => {
      const b = get();
      const round = async (): Promise<void> => {
        const { run, tasks } = await b.planned(6);
        const writers = await Promise.all(tasks.map((t, i) => b.take(t, { store: i % 2 ? b.store : b.other })));
        const next = (i: number) =>
          i < 3 ? completed() : ({ type: "park", absorbed: 0, wait: "claim", wakeAt: null } as const);
        const events = (i: number) => (i < 3 ? [terminal(completed())] : [event("A")]);
        await Promise.all([
          run.write([event("RunCompleted")], completed()),
          ...writers.map((w, i) => w.write(events(i), next(i))),
        ]);
        for (const [i, t] of tasks.entries()) {
          const row = await b.streamRow(t);
          const inbox = await b.store.streams.readInbox(t, 0);
          if (i < 3) expect(row.status).toBe("ended");
          else expect([inbox.length, row.status === "parked"]).toEqual([1, false]);
          expect(inbox.map((item) => item.seq)).toEqual(inbox.map((_, k) => k + 1));
        }
      };
      for (let i = 0; i < 3; i++) await Promise.all(Array.from({ length: 5 }, round));
    });
  });
}
