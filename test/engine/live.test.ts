// What watchers of a run see on the real engine: text as it comes, a new beginning when a worker died, and no statement for anybody who doesn't watch.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createLiveText } from "../../local/client/live-text.ts";
import { createNotices } from "../../shared/adapters/database/notices.ts";
import { createLiveIn, createLiveOut } from "../../shared/adapters/live/postgres.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { LivePiece } from "../../shared/ports/live.ts";
import type { Model } from "../../shared/ports/model.ts";
import { role } from "../support/agents.ts";
import { passTime, type Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, until } from "./support.ts";

let t: EngineTest;
const opened: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => {
  await t.reset();
  for (const one of opened.splice(0)) await one.close();
});
afterAll(async () => await t.close());
const MAIN = { kind: "role", role: "main" } as const;
const silent = { info: () => {}, warn: () => {}, error: () => {} };
const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };

/** Says words one by one, `hold`ing before the last. */
function speaker(words: readonly string[], hold: (word: number, signal: AbortSignal) => Promise<void>) {
  const model: Model = {
    ask: async (_request, signal, context) => {
      for (const [i, word] of words.entries()) {
        await hold(i, signal);
        context?.onDelta?.({ type: "text", text: `${word} ` });
      }
      const text = words.join(" ");
      return { ok: true, response: { content: [{ type: "text", text }], stopReason: "end", usage } };
    },
  };
  return { ...model, ledger: [] };
}

function worker(model: ReturnType<typeof speaker>, database: Database = t.database): Stack {
  const live = createLiveOut({ database });
  opened.push(live);
  return t.stack([role("main")], MAIN, { model, live, database });
}

function watcher(runId: string) {
  const notices = createNotices(t.database, silent);
  const live = createLiveIn({ database: t.database, notices });
  opened.push(live, notices);
  const pieces: LivePiece[] = [];
  const text = createLiveText();
  const heard = { grew: 0 };
  live.watch(
    runId,
    (piece) => {
      pieces.push(piece);
      text.take(piece);
    },
    () => void heard.grew++,
  );
  const there = async (): Promise<boolean> =>
    (await t.sql("SELECT 1 FROM toren_control.run_watchers WHERE run_id = $1", [runId])).length === 1;
  return {
    pieces,
    heard,
    there,
    now: () => text.now().flatMap(({ over, text: said }) => (over ? [] : [said])),
    recorded: text.recorded,
  };
}

const WORDS = Array.from({ length: 40 }, (_, i) => `word${i}`);

describe("who watches a run", () => {
  test("sees the answer come, and its record replaces it", async () => {
    const gate = Promise.withResolvers<void>();
    const stack = worker(speaker(WORDS, async (i) => void (i === 39 && (await gate.promise))));
    const runId = await stack.start(AGENT, "x");
    const seen = watcher(runId);
    await until(seen.there);
    const driven = stack.drive({ agent: AGENT, runId });
    await until(() => seen.now()[0] === `${WORDS.slice(0, 39).join(" ")} `);
    expect(seen.pieces[0]).toMatchObject({ stream: "task:w0t0", stepId: "s0", call: 2, attempt: 0 });
    gate.resolve();
    expect(await driven).toMatchObject({ status: "completed", output: WORDS.join(" ") });
    await until(() => seen.heard.grew > 0); // and its log is said to have more
    seen.recorded([{ stream: "task:w0t0", seq: 3, type: "LlmCallCompleted", recordedAt: "", payload: {} }]);
    expect(seen.now()).toEqual([]);
  });

  test("I9: sees it begin anew when the worker died, and nothing more of the dead one", async () => {
    const [holds, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const dying = worker(
      speaker(WORDS, async (i) => {
        if (i === 10) await holds.promise; // dead by then: what it says afterwards is a zombie's
        if (i === 30) await new Promise((r) => setTimeout(r, 500));
      }),
    );
    const runId = await dying.start(AGENT, "x");
    const seen = watcher(runId);
    await until(seen.there);
    void dying.drive({ agent: AGENT, runId }).catch(() => {});
    await until(() => seen.now()[0] === `${WORDS.slice(0, 10).join(" ")} `);
    dying.fate.dead = true;
    dying.fate.onDeath();
    dying.stop();
    await passTime(t.database, AGENT);
    const heir = worker(speaker(WORDS, async (i) => void (i === 5 && (await late.promise))));
    const driven = heir.drive({ agent: AGENT, runId });
    await until(() => seen.now()[0] === `${WORDS.slice(0, 5).join(" ")} `);
    holds.resolve();
    await until(() => seen.pieces.filter(({ call }) => call === 2).some(({ text }) => text.includes("word29")));
    expect(seen.now()).toEqual([`${WORDS.slice(0, 5).join(" ")} `]);
    late.resolve();
    expect(await driven).toMatchObject({ status: "completed" });
  });
});

describe("while nobody watches", () => {
  test("an answer of ten thousand pieces makes as many statements as one that comes whole", async () => {
    /** Of a run: its appends, and what went out to watchers. Hints of the queue are notified together as they happen to fall, and left out. */
    const statements = async (words: readonly string[]) => {
      const sent: string[] = [];
      const counting = (pool: Database["pool"]): Database["pool"] => {
        const query = (...args: unknown[]): unknown => {
          const [given, values] = args as [string | { text: string }, unknown];
          if (!JSON.stringify(values ?? null).includes("toren_hints"))
            sent.push(typeof given === "string" ? given : given.text);
          return (pool.query as (...a: unknown[]) => unknown)(...args);
        };
        return new Proxy(pool, {
          get: (target, name) => (name === "query" ? query : Reflect.get(target, name, target)),
        });
      };
      const { appends, pool } = t.database;
      const slowly = async (i: number): Promise<void> =>
        i % 2_000 === 1_999 ? new Promise((r) => setTimeout(r, 60)) : undefined;
      const database = { ...t.database, appends: counting(appends), pool: counting(pool) };
      const stack = worker(speaker(words, slowly), database);
      await stack.drive({ agent: AGENT, runId: await stack.start(AGENT, "x") });
      const count = (pattern: RegExp): number => sent.filter((text) => pattern.test(text)).length;
      return {
        appends: count(new RegExp(`INSERT INTO agent_${AGENT}.events`)),
        notifications: count(/pg_notify/),
        ofWatchers: count(/(INSERT INTO|DELETE FROM|UPDATE) toren_control.run_watchers/),
      };
    };
    const whole = await statements(["all"]);
    expect(whole.appends).toBeGreaterThan(3);
    expect(whole.ofWatchers).toBe(0);
    expect(await statements(Array.from({ length: 10_000 }, () => "word"))).toEqual(whole);
  });
});
