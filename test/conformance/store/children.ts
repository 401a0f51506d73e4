import { describe, expect, test } from "@jest/globals";
import { childRunId } from "../../../shared/core/workflow/child.ts";
import type { Append, Next, PlannedChild } from "../../../shared/ports/store.ts";
import { type Bench, completed, ERROR, event, type Writer, wave } from "./bench.ts";

const PARK: Next = { type: "park", absorbed: 0, wait: "child", wakeAt: null };
const FAILED: Next = { type: "end", outcome: { status: "failed", error: ERROR } };
const RUN: Next = { type: "run" };
const hold = (tokens: number, spent = 0): Partial<Append> => ({
  purse: { hold: { tokens, nanoUsd: 0 }, spend: { tokens: spent, nanoUsd: 0 }, keep: false },
});

export function childSuite(get: () => Bench): void {
  describe("children", () => {
    /** Starts so many, and says their ids. */
    const start = async (b: Bench, writer: Writer, count: number, depth = 1): Promise<string[]> => {
      const children = Array.from({ length: count }, (_, i): PlannedChild => {
        const runId = childRunId(writer.lease.stream.runId, writer.head + i + 1);
        return { runId, process: "sub", input: i, mode: "task", codeHash: "h", depth };
      });
      const events = children.map(({ runId }) => event("ChildStarted", { run: runId }));
      const { lease, head } = writer;
      const planned = await b.store.streams.plan({ lease, head, events, waves: [], children });
      if (planned.type !== "ok") throw new Error(planned.type);
      writer.head = planned.head;
      return children.map(({ runId }) => runId);
    };
    const family = async (count: number, more: Parameters<Bench["run"]>[0] = {}) => {
      const b = get();
      const runId = await b.run(more);
      const parent = await b.take(b.stream(runId));
      return { b, runId, parent, children: await start(b, parent, count) };
    };
    const facts = async (b: Bench, runId: string) =>
      (await b.store.streams.readInbox(b.stream(runId), 0)).map(({ seq, fact }) => [
        seq,
        fact.kind === "child" ? fact.run : fact.kind,
      ]);
    const end = async (b: Bench, runId: string, next: Next = completed()) =>
      (await b.take(b.stream(runId))).write([event("RunCompleted", { output: 1 })], next);

    test("begin with the append that starts them: with its labels, at rest, in the order of a list", async () => {
      const { b, runId, children } = await family(2, { attributes: { customer: "acme" } });
      const [first = ""] = children;
      expect(await b.row(first)).toMatchObject({
        process: "sub",
        status: "created",
        input: 0,
        parent: runId,
        attributes: { customer: "acme" },
      });
      expect((await b.store.streams.read(b.stream(first), 0))[0]).toMatchObject({
        type: "RunCreated",
        payload: { process: "sub", input: 0, parent: { run: runId, depth: 1 } },
      });
      expect(await b.store.runs.agentOf(first)).toBe(b.agent);
      const { children: listed, count } = await b.store.children.list(b.agent, runId, 1);
      expect([listed.length, count]).toEqual([1, 2]);
      expect((await b.store.children.open(b.agent, runId)).sort()).toEqual([...children].sort());
      expect(await b.store.children.present(b.agent, runId, [...children, runId])).toHaveLength(2);
      expect((await b.row(runId)).parent).toBeNull();
    });

    test("I12: of a lost lease never begin", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const zombie = await b.take(stream, { leaseMs: 1 });
      await b.passTime(5);
      await b.take(stream);
      await expect(start(b, zombie, 1)).rejects.toThrow("conflict");
      expect(await b.store.children.open(b.agent, stream.runId)).toEqual([]);
    });

    test("I3 I10: tell their parent in the append that ends them, each once, in an order without a gap; it is woken", async () => {
      const { b, runId, parent, children } = await family(6);
      expect((await parent.write([], PARK)).status).toBe("parked");
      await Promise.all(children.map((id, i) => end(b, id, i % 2 === 0 ? completed() : FAILED)));
      const told = await facts(b, runId);
      expect(told.map(([seq]) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(told.map(([, run]) => run).sort()).toEqual([...children].sort());
      expect(await b.streamRow(b.stream(runId))).toMatchObject({ status: "ready", wait: "child" });
      const outcomes = await b.store.children.outcomes(b.agent, runId, children);
      expect(outcomes.map((o) => o.outcome.status).sort()).toEqual([
        ...Array(3).fill("completed"),
        ...Array(3).fill("failed"),
      ]);
      expect(await b.store.children.outcomes(b.agent, children[0] ?? "", children)).toEqual([]);
    });

    test("in one moment with a wave's bell and the parent's park: nothing is lost, and nothing counted twice", async () => {
      for (let i = 0; i < 6; i++) {
        const { b, runId, parent, children } = await family(2);
        await parent.plan(wave(0, 1));
        const task = await b.take(b.stream(runId, "task:w0t0"));
        const writers = await Promise.all(children.map((id) => b.take(b.stream(id))));
        const [parked] = await Promise.all([
          parent.write([event("A")], PARK),
          task.write([event("TaskCompleted", { result: 1 })], completed()),
          ...writers.map((w) => w.write([event("RunCompleted", { output: 1 })], completed())),
        ]);
        const row = await b.streamRow(b.stream(runId));
        expect((await facts(b, runId)).map(([seq]) => seq)).toEqual([1, 2, 3]);
        expect(["running", "ready"]).toContain(row.status);
        expect(parked.status === "parked" || row.status === "running").toBe(true);
      }
    });

    test("are told to stop by the end of their parent, which then hears of none; whoever ends in that moment isn't told", async () => {
      const { b, runId, parent, children } = await family(3);
      const [done = "", goesOn = "", atOnce = ""] = children;
      await end(b, done);
      const [grandchild = ""] = await start(b, await b.take(b.stream(goesOn)), 1, 2);
      const last = await b.take(b.stream(atOnce));
      await Promise.all([
        parent.write([event("RunFailed", { error: ERROR })], FAILED),
        last.write([event("RunCompleted", { output: 1 })], completed()),
      ]);
      expect((await facts(b, goesOn)).map(([, kind]) => kind)).toEqual(["cancel"]);
      expect(await facts(b, done)).toEqual([]);
      expect(await facts(b, grandchild)).toEqual([]); // its own parent tells it
      expect((await b.streamRow(b.stream(atOnce))).outcome).toBe("completed");
      await end(b, grandchild);
      expect((await facts(b, goesOn)).map(([, kind]) => kind)).toEqual(["cancel", grandchild]);
      expect((await facts(b, runId))[0]?.[1]).toBe(done);
      expect((await facts(b, runId)).length).toBeLessThanOrEqual(2); // of the one that ended at once perhaps
    });

    test("of one line that end at once wait for one another's rows in one order", async () => {
      const b = get();
      for (let i = 0; i < 6; i++) {
        const top = await b.take(b.stream(await b.run()));
        const line = [top];
        for (let depth = 1; depth < 5; depth++) {
          const [id = ""] = await start(b, line.at(-1) as Writer, 1, depth);
          line.push(await b.take(b.stream(id)));
        }
        const ends = await Promise.all(line.map((w) => w.append([event("RunCompleted", { output: 1 })], completed())));
        expect(ends.map((e) => e.type)).toEqual(Array(5).fill("ok"));
      }
    });

    test("reserve from the budget of the run at the top, together no more than it has", async () => {
      const { b, runId, children } = await family(2, { budget: { totalTokens: 100, maxCostUsd: null } });
      const [one = "", two = ""] = children;
      const deep = (await start(b, await b.take(b.stream(one)), 1, 2))[0] ?? "";
      const task = async (id: string): Promise<Writer> => {
        await (await b.take(b.stream(id))).plan(wave(0, 1));
        return await b.take(b.stream(id, "task:w0t0"));
      };
      const [first, second] = [await task(two), await task(deep)];
      expect((await b.store.tasks.spec(second.lease.stream))?.budget).toMatchObject({
        totalTokens: 100,
        maxCostUsd: null,
      });
      await first.write([event("LlmCallStarted")], RUN, hold(70, 5));
      expect(await second.append([event("LlmCallStarted")], RUN, hold(26))).toMatchObject({ type: "budget" });
      await second.write([event("LlmCallStarted")], RUN, hold(25));
      const budget = { spent: { tokens: 5, nanoUsd: 0 }, reserved: { tokens: 95, nanoUsd: 0 } };
      for (const id of [runId, two, deep]) expect((await b.row(id)).budget).toMatchObject(budget);
      await second.write([event("TaskCompleted", { result: 1 })], completed());
      expect((await b.row(runId)).budget?.reserved.tokens).toBe(70);
    });
  });
}
