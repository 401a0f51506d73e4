// What a store tells people: which calls wait for them, and what was said in a session.
import { describe, expect, test } from "@jest/globals";
import type { NewEvent, Next } from "../../../shared/ports/store.ts";
import { type Bench, completed, event, type Writer } from "./bench.ts";

const park = (wait: "approval" | "input"): Next => ({ type: "park", absorbed: 0, wait, wakeAt: null });
const asked = (n: number, more: NewEvent["payload"] = {}): NewEvent =>
  event("ApprovalRequested", { stepId: "s0", toolUseId: `u${n}`, tool: "pay", args: { n }, key: `k${n}`, ...more });

export function peopleSuite(get: () => Bench): void {
  describe("calls that wait for a person", () => {
    const approvals = (b: Bench, runId: string) => b.store.tasks.approvals(b.agent, runId);

    test("stand in the order in which they were asked, with why, until when, and what was decided first", async () => {
      const b = get();
      const { runId, tasks } = await b.planned(1);
      const [task] = tasks;
      if (task === undefined) throw new Error("no task");
      const writer = await b.take(task);
      await writer.write([asked(1, { expiresAt: 5 }), asked(2, { reason: "unknownOutcome" })], park("approval"));
      expect((await b.row(runId)).status).toBe("waitingApproval");
      for (const granted of [true, false])
        await b.store.streams.deliver(task, "decision:k2", {
          kind: "decision",
          key: "k2",
          granted,
          by: "ann",
          comment: "ok",
        });
      expect(await approvals(b, runId)).toEqual([
        {
          taskId: "w0t0",
          toolUseId: "u1",
          tool: "pay",
          args: { n: 1 },
          key: "k1",
          reason: "approval",
          requestedAt: expect.any(Number),
          expiresAt: 5,
          decided: null,
        },
        expect.objectContaining({
          key: "k2",
          reason: "unknownOutcome",
          expiresAt: null,
          decided: { granted: true, by: "ann", comment: "ok", at: expect.any(Number) },
        }),
      ]);
      await (await b.take(task)).write([event("A")]);
      expect((await b.row(runId)).status).toBe("running");
    });

    test("are gone when a cut takes them away, and when their task ends undecided", async () => {
      const b = get();
      const { runId, tasks } = await b.planned(1);
      const writer = await b.take(tasks[0] as Writer["lease"]["stream"]);
      await writer.write([asked(1), asked(2)]);
      await writer.write([event("StreamInvalidated", { fromSeq: 2, reason: "edit", generation: 2 })]);
      expect((await approvals(b, runId)).map((a) => a.key)).toEqual(["k1"]);
      await writer.write([event("TaskCompleted", { result: "x" })], completed());
      expect(await approvals(b, runId)).toEqual([]);
    });
  });

  describe("what was said in a session", () => {
    const said = (text: string): NewEvent => event("UserMessage", { text });
    const answered = event("LlmCallCompleted", { stepId: "s0", response: {} });
    const shown = (text: string): NewEvent => event("InputRequested", { text });

    async function talk(b: Bench, events: readonly NewEvent[], next?: Next) {
      const { runId, tasks } = await b.planned(1);
      const writer = await b.take(tasks[0] as Writer["lease"]["stream"]);
      await writer.write(events, next);
      const page = async (before: number | null, limit: number) => {
        const { turns, count } = await b.store.tasks.turns(b.agent, runId, { before, limit });
        return [count, ...turns.map(({ seq, by, text }) => `${seq} ${by}: ${text}`)];
      };
      return { runId, writer, page };
    }

    test("comes a page at a time, newest first, with how much there is", async () => {
      const b = get();
      const log = Array.from({ length: 5 }, (_, i) => [said(`q${i}`), answered, shown(`a${i}`)]).flat();
      const { runId, page } = await talk(b, log, park("input"));
      expect((await b.row(runId)).status).toBe("awaitingInput");
      expect(await page(null, 3)).toEqual([10, "15 agent: a4", "13 user: q4", "12 agent: a3"]);
      expect(await page(12, 2)).toEqual([10, "10 user: q3", "9 agent: a2"]);
      expect(await page(4, 200)).toEqual([10, "3 agent: a0", "1 user: q0"]);
      expect(await page(1, 200)).toEqual([10]);
    });

    test("leaves out messages of white space alone, and an end that says nothing new", async () => {
      const b = get();
      const log = [answered, shown("a"), said(" \n\t\u00a0\u3000"), event("TaskCompleted", { result: "a" })];
      expect(await (await talk(b, log, completed())).page(null, 9)).toEqual([1, "2 agent: a"]);
      const last = [answered, shown("a"), said("b"), answered, event("TaskCompleted", { result: { b: 1 } })];
      const ended = await talk(b, last, completed());
      expect(await ended.page(null, 9)).toEqual([3, '5 agent: {"b":1}', "3 user: b", "2 agent: a"]);
    });

    test("two answers in a row are two, and long texts come whole", async () => {
      const b = get();
      const long = "long ".repeat(60_000); // above what stays in a row
      const { page } = await talk(b, [said(long), answered, shown("a"), answered, shown("b")]);
      expect(await page(null, 9)).toEqual([3, "5 agent: b", "3 agent: a", `1 user: ${long}`]);
    });

    test("is nothing where nobody said anything", async () => {
      const b = get();
      expect(await b.store.tasks.turns(b.agent, await b.run(), { before: null, limit: 5 })).toEqual({
        turns: [],
        count: 0,
      });
    });
  });
}
