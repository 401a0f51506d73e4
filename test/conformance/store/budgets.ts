import { describe, expect, test } from "@jest/globals";
import { type Amount, NOTHING } from "../../../shared/core/task/ledger.ts";
import type { Append, Next } from "../../../shared/ports/store.ts";
import { type Bench, completed, event } from "./bench.ts";

const tokens = (n: number): Amount => ({ tokens: n, nanoUsd: 0 });
const purse = (hold: number, spend = 0, keep = false): Partial<Append> => ({
  purse: { hold: tokens(hold), spend: tokens(spend), keep },
});
const CALL = [event("LlmCallStarted")];
const RUN = { type: "run" } as const;

export function budgetSuite(get: () => Bench): void {
  describe("budgets", () => {
    const capped = async (tasks: number, totalTokens: number) => {
      const b = get();
      const runId = await b.run({ budget: { totalTokens, maxCostUsd: null } });
      const run = await b.take(b.stream(runId));
      await run.plan({
        wave: 0,
        onTaskFailure: "collect",
        maxParallel: null,
        claimed: [],
        fresh: Array.from({ length: tasks }, (_, i) => ({
          taskId: `w0t${i}`,
          role: "worker",
          input: i,
          digest: `d${i}`,
        })),
      });
      const of = (i: number) => b.stream(runId, `task:w0t${i}`);
      const budget = async () => (await b.row(runId)).budget;
      return { b, runId, of, budget };
    };

    test("a reservation that fits is held, a payment takes its place, and an end holds nothing", async () => {
      const { b, of, budget } = await capped(1, 100);
      expect((await b.store.tasks.spec(of(0)))?.budget).toMatchObject({ totalTokens: 100, maxCostUsd: null });
      const writer = await b.take(of(0));
      await writer.write(CALL, RUN, purse(60));
      expect(await budget()).toMatchObject({ spent: NOTHING, reserved: tokens(60) });
      await writer.write([event("LlmCallCompleted")], RUN, purse(0, 45));
      expect(await budget()).toMatchObject({ spent: tokens(45), reserved: NOTHING });
      await writer.write(CALL, RUN, purse(50));
      await writer.write([event("TaskCompleted", { result: 1 })], completed());
      expect(await budget()).toMatchObject({ spent: tokens(45), reserved: NOTHING });
    });

    test("one that doesn't fit is refused whole, and says what is spent", async () => {
      const { b, of, budget } = await capped(2, 100);
      const [one, two] = [await b.take(of(0)), await b.take(of(1))];
      await one.write(CALL, RUN, purse(70, 5));
      expect(await two.append(CALL, RUN, purse(26))).toEqual({ type: "budget", spent: tokens(5) });
      expect(await b.types(of(1))).toEqual([]);
      await two.write(CALL, RUN, purse(25));
      expect(await budget()).toMatchObject({ spent: tokens(5), reserved: tokens(95) });
    });

    test("what was held for a call that is sent again counts as spent", async () => {
      const { b, of, budget } = await capped(1, 100);
      const writer = await b.take(of(0));
      await writer.write(CALL, RUN, purse(40));
      await writer.write(CALL, RUN, purse(40, 0, true));
      expect(await budget()).toMatchObject({ spent: tokens(40), reserved: tokens(40) });
      expect(await writer.append(CALL, RUN, purse(40, 0, true))).toEqual({ type: "budget", spent: tokens(80) });
      await writer.write([], RUN, purse(0, 0, true));
      expect(await budget()).toMatchObject({ spent: tokens(80), reserved: NOTHING });
    });

    test("dollars count apart from tokens", async () => {
      const b = get();
      const runId = await b.run({ budget: { totalTokens: null, maxCostUsd: 0.000_000_5 } });
      const run = await b.take(b.stream(runId));
      const dear = { purse: { hold: { tokens: 1e9, nanoUsd: 500 }, spend: NOTHING, keep: false } };
      await run.write([event("A")], RUN, dear);
      expect((await b.row(runId)).budget).toMatchObject({ maxCostUsd: 0.000_000_5, reserved: { nanoUsd: 500 } });
      const more = { purse: { hold: { tokens: 1, nanoUsd: 501 }, spend: NOTHING, keep: false } };
      expect((await run.append([event("A")], RUN, more)).type).toBe("budget");
    });

    test("N parallel tasks never pass the cap, whatever they ask for, by several connections", async () => {
      const { b, of, budget } = await capped(12, 1_000);
      let billed = 0;
      let refused = 0;
      await Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          const writer = await b.take(of(i), { store: i % 2 === 0 ? b.store : b.other });
          for (let call = 0; call < 10; call++) {
            const ask = 20 + ((i * 7 + call * 13) % 40);
            const begun = await writer.append(CALL, RUN, purse(ask));
            if (begun.type !== "ok") {
              refused++;
              continue;
            }
            writer.head = begun.head;
            const used = ask - ((i + call) % 9);
            billed += used;
            expect(billed).toBeLessThanOrEqual(1_000);
            const now = await budget();
            expect((now?.spent.tokens ?? 0) + (now?.reserved.tokens ?? 0)).toBeLessThanOrEqual(1_000);
            await writer.write([event("LlmCallCompleted")], RUN, purse(0, used));
          }
        }),
      );
      expect(refused).toBeGreaterThan(10);
      expect(await budget()).toMatchObject({ spent: tokens(billed), reserved: NOTHING });
      expect(billed).toBeGreaterThan(900);
    });

    test("a session's end is refused whole when a fact came meanwhile", async () => {
      const b = get();
      const stream = b.stream(await b.run());
      const writer = await b.take(stream);
      await b.other.streams.deliver(stream, "k", { kind: "hold", wave: 0 });
      const end = (absorbed: number): Next => ({ type: "end", outcome: { status: "completed", output: 1 }, absorbed });
      expect(await writer.append([event("A")], end(0))).toEqual({ type: "heard", inboxSeq: 1 });
      expect(await b.types(stream)).toEqual(["RunCreated"]);
      await writer.write([event("FactIgnored", { inboxSeq: 1 })], end(1));
      expect((await b.streamRow(stream)).status).toBe("ended");
    });
  });
}
