import { describe, expect, test } from "@jest/globals";
import { childRunId } from "../../../shared/core/workflow/child.ts";
import type { Next } from "../../../shared/ports/store.ts";
import { type Bench, completed, event, type Writer, wave } from "./bench.ts";

/** A run that goes on anew: its log is sealed up to the append's last event, and what it names is told to stop. */
export function continueSuite(get: () => Bench): void {
  const anew = (more: Partial<Extract<Next, { type: "continue" }>> = {}): Next => ({
    type: "continue",
    absorbed: 0,
    tasks: [],
    children: [],
    ...more,
  });
  const BEGUN = [event("A"), event("RunContinued")];

  describe("going on anew", () => {
    const facts = async (b: Bench, runId: string, streamId = "run") =>
      (await b.store.streams.readInbox(b.stream(runId, streamId), 0)).map(({ seq, fact }) => [seq, fact.kind]);
    const start = async (b: Bench, writer: Writer): Promise<string> => {
      const { lease, head } = writer;
      const runId = childRunId(lease.stream.runId, head + 1);
      const child = { runId, process: "sub", input: 1, mode: "task", codeHash: "h", depth: 1 } as const;
      const events = [event("ChildStarted", { run: runId })];
      const planned = await b.store.streams.plan({ lease, head, events, waves: [], children: [child] });
      if (planned.type !== "ok") throw new Error(planned.type);
      writer.head = planned.head;
      return runId;
    };

    test("leaves the stream ready, its count of deaths at nought; who takes it is told where its state begins", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      expect(writer.lease.sealedSeq).toBe(0);
      expect(await writer.write(BEGUN, anew({ absorbed: 0 }))).toMatchObject({ status: "ready", head: 3 });
      expect(await b.streamRow(stream)).toMatchObject({ status: "ready", sealedSeq: 2, attempts: 0, wait: null });
      expect((await b.streamRow(stream)).wakeAt).not.toBeNull();
      expect(await b.row(stream.runId)).toMatchObject({ status: "running", output: null, endedAt: null });
      const next = await b.take(stream);
      expect(next.lease).toMatchObject({ sealedSeq: 2, head: 3 });
      expect((await b.store.streams.read(stream, next.lease.sealedSeq)).map((e) => e.type)).toEqual(["RunContinued"]);
      expect(await b.types(stream)).toEqual(["RunCreated", "A", "RunContinued"]); // nothing is gone
      await next.write([event("RunContinued")], anew());
      expect((await b.take(stream)).lease.sealedSeq).toBe(3);
    });

    test("I2 I12: of a lost lease seals nothing and stops nobody", async () => {
      const b = get();
      const { runId, run } = await b.planned(1);
      const zombie = { ...run, lease: { ...run.lease, epoch: run.lease.epoch - 1 } };
      const append = { lease: zombie.lease, head: run.head, events: BEGUN, progress: false };
      expect(await b.store.streams.append({ ...append, next: anew({ tasks: ["w0t0"] }) })).toEqual({
        type: "conflict",
      });
      expect((await b.streamRow(b.stream(runId))).sealedSeq).toBe(0);
      expect(await facts(b, runId, "task:w0t0")).toEqual([]);
    });

    test("stops the tasks that it names and that haven't ended, parked ones are woken; no other", async () => {
      const b = get();
      const { runId, run, tasks } = await b.planned(4);
      const [parked, ended] = tasks;
      if (parked === undefined || ended === undefined) throw new Error("no tasks");
      await (await b.take(parked)).write([event("X")], { type: "park", absorbed: 0, wait: "approval", wakeAt: null });
      await b.end(ended);
      await run.write(BEGUN, anew({ tasks: ["w0t0", "w0t1", "w0t2", "w9t9"] }));
      expect(await facts(b, runId, "task:w0t0")).toEqual([[1, "cancel"]]);
      expect((await b.streamRow(parked)).status).toBe("ready");
      expect(await facts(b, runId, "task:w0t1")).toEqual([]);
      expect(await facts(b, runId, "task:w0t2")).toEqual([[1, "cancel"]]);
      expect(await facts(b, runId, "task:w0t3")).toEqual([]);
      // Twice, and each time that it goes on.
      await (await b.take(b.stream(runId))).write([event("RunContinued")], anew({ tasks: ["w0t2"] }));
      expect(await facts(b, runId, "task:w0t2")).toEqual([
        [1, "cancel"],
        [2, "cancel"],
      ]);
    });

    test("stops the children that it names, if they are its own; their ends are facts like any", async () => {
      const b = get();
      const runId = await b.run();
      const stranger = await b.run();
      const writer = await b.take(b.stream(runId));
      const child = await start(b, writer);
      await writer.write(BEGUN, anew({ children: [child, stranger] }));
      expect(await facts(b, child)).toEqual([[1, "cancel"]]);
      expect(await facts(b, stranger)).toEqual([]);
      await (await b.take(b.stream(child))).write([event("RunCancelled")], completed());
      expect(await facts(b, runId)).toEqual([[1, "child"]]);
    });

    test("in one moment with the ends of its tasks: each is told or has ended, and the run hears of its wave once", async () => {
      for (let i = 0; i < 6; i++) {
        const b = get();
        const { runId, run, tasks } = await b.planned(3);
        const writers = await Promise.all(tasks.map((task) => b.take(task)));
        const [first, ...others] = writers;
        if (first === undefined) throw new Error("no tasks");
        await Promise.all([
          run.write(BEGUN, anew({ tasks: ["w0t0", "w0t1", "w0t2"] })),
          first.write([event("X")]),
          ...others.map((w) => w.write([event("TaskCompleted", { result: 1 })], completed())),
        ]);
        expect(await facts(b, runId, "task:w0t0")).toEqual([[1, "cancel"]]);
        const row = await b.streamRow(b.stream(runId));
        expect(row).toMatchObject({ status: "ready", sealedSeq: run.head - 1 });
        expect(await facts(b, runId)).toEqual([]);
        await first.write([event("TaskCancelled")], completed());
        expect(await facts(b, runId)).toEqual([[1, "wave"]]);
      }
    });

    test("what a run was told is counted from there on", async () => {
      const b = get();
      const runId = await b.run();
      const tell = (key: string) =>
        b.store.streams.deliver(b.stream(runId), key, { kind: "signal", signal: key, value: 1 });
      await tell("a");
      await tell("b");
      expect((await b.row(runId)).facts).toBe(2);
      await (await b.take(b.stream(runId))).write([event("RunContinued")], anew({ absorbed: 1 }));
      expect((await b.row(runId)).facts).toBe(1);
      await tell("c");
      expect((await b.row(runId)).facts).toBe(2);
    });

    test("plans waves as before", async () => {
      const b = get();
      const { runId, run } = await b.planned(1);
      await run.write(BEGUN, anew({ tasks: ["w0t0"] }));
      const next = await b.take(b.stream(runId));
      await next.plan(wave(1, 2));
      expect((await b.store.tasks.open(b.agent, runId)).map((o) => o.taskId).sort()).toEqual(["w0t0", "w1t0", "w1t1"]);
    });
  });
}
