// Edits of a workflow whose tasks have done what can't be done twice (I6b): when somebody is asked, and what --keep and --rerun make of it.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { Json } from "../../shared/core/json.ts";
import type { WorkflowCtx } from "../../shared/core/workflow/context.ts";
import { readRun } from "../../shared/engine/read-run.ts";
import { decideCut, sendSignal } from "../../shared/engine/speak-to-task.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { role, tool, workflow } from "../support/agents.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import type { Stack } from "../support/stack.ts";
import { AGENT, type EngineTest, engineTest, firstText } from "./support.ts";

let t: EngineTest;
beforeAll(async () => {
  t = await engineTest();
});
afterEach(async () => await t.reset());
afterAll(async () => await t.close());

type Code = (ctx: WorkflowCtx<Json>) => Promise<Json>;
const HOUR_MS = 3_600_000;

/** A run that is edited again and again. The mailer mails what it is asked, the writer only writes. */
function office() {
  const mailed: string[] = [];
  const asked: string[] = [];
  const model = createScriptedModel((r) => {
    if (r.messages.length === 1) asked.push(firstText(r));
    const mails = r.system.includes("mailer") && r.messages.length === 1;
    return mails ? { tools: [{ name: "mail", args: { text: firstText(r) } }] } : `<${firstText(r)}>`;
  });
  const mail = tool("mail", (args) => void mailed.push((args as { text: string }).text), { effects: "external" });
  const roles = [role("mailer", { tools: [mail] }), role("writer")];
  let [generation, runId] = [0, ""];
  let stack: Stack | undefined;
  const there = (): Stack => {
    if (stack === undefined) throw new Error("nothing has begun");
    return stack;
  };
  const go = (): Promise<RunRow | null> => there().drive({ agent: AGENT, runId });
  return {
    mailed,
    asked,
    go,
    get runId() {
      return runId;
    },
    get stack() {
      return there();
    },
    /** The run goes on with this code, as far as it comes: its status. */
    edit: async (code: Code): Promise<string | undefined> => {
      stack?.stop();
      stack = t.stack(roles, workflow(code), { model, generation: ++generation });
      if (runId === "") runId = await stack.start(AGENT, "x");
      else await stack.deps.queue.send([{ queue: "ticks", hint: { agent: AGENT, runId, taskId: null } }]);
      return (await go())?.status;
    },
    decide: async (decision: "rerun" | "keep"): Promise<string | undefined> => {
      const told = await decideCut(there().deps, { agent: AGENT, runId, decision, by: "ann" });
      if (told.type === "refused") return told.error.code;
      return (await go())?.status;
    },
    question: async () => (await readRun(there().deps, { agent: AGENT, runId }))?.cuts[0],
    whole: async (): Promise<string[]> => checkLog(await dumpDatabase(t.database.pool, AGENT)),
  };
}
/** Mails these one after the other, then waits. */
const inTurn =
  (...texts: string[]): Code =>
  async (ctx) => {
    const said: Json[] = [];
    for (const text of texts) said.push(await ctx.ask("mailer", text));
    await ctx.sleep(HOUR_MS);
    return said;
  };
const inWave =
  (...texts: string[]): Code =>
  async (ctx) => {
    const { results } = await ctx.wave(
      "post",
      texts.map((text) => ctx.task("mailer", text)),
    );
    await ctx.sleep(HOUR_MS);
    return results.map((r) => r.output ?? null);
  };

test("c18: one question has one decider, whatever is heard meanwhile", async () => {
  const o = office();
  await o.edit(inTurn("to Ann"));
  expect(await o.edit(inTurn("to Bob"))).toBe("waitingCut");
  const run = { agent: AGENT, runId: o.runId };
  const { deps } = o.stack;
  await sendSignal(deps, { ...run, signal: "weather", value: "rain" });
  expect((await o.go())?.status).toBe("waitingCut"); // what was heard is on record, and the question still open
  expect(await t.payloads(o.runId, "SignalReceived")).toHaveLength(1);
  expect(await decideCut(deps, { ...run, decision: "keep", by: "ann" })).toEqual({ type: "told" });
  await sendSignal(deps, { ...run, signal: "weather", value: "sun" });
  const second = await decideCut(deps, { ...run, decision: "rerun", by: "bob" });
  expect(second).toMatchObject({ type: "refused", error: { code: "decision.taken" } });
  expect(JSON.stringify(second)).toContain("keep by ann");
  await o.go();
  expect(o.mailed).toEqual(["to Ann"]);
  expect(await o.whole()).toEqual([]);
});

describe("--keep of a workflow's edit", () => {
  test("what was mailed answers for what is worded anew; nothing is asked or mailed again, and the code goes on", async () => {
    const o = office();
    expect(await o.edit(inTurn("to Ann"))).toBe("waitingTimer");
    const then: Code = async (ctx) => await ctx.ask("writer", `of ${await ctx.ask("mailer", "to Ann, politely")}`);
    expect(await o.edit(then)).toBe("waitingCut");
    expect(await o.question()).toMatchObject({
      calls: ["w0t0: mail"],
      instead: {
        stands: [{ task: "w0t0", was: 'mailer "to Ann"', now: 'mailer "to Ann, politely"' }],
        standing: 1,
        fresh: [],
        anew: 0,
      },
    });
    expect(await o.decide("keep")).toBe("completed");
    expect(o.mailed).toEqual(["to Ann"]);
    expect(o.asked).toEqual(["to Ann", "of <to Ann>"]);
    expect((await o.go())?.output).toBe("<of <to Ann>>");
    expect(await o.whole()).toEqual([]);
  });

  test("of a wave that grows, only what is more is new, and it is said before", async () => {
    const o = office();
    await o.edit(inWave("a", "b"));
    expect(await o.edit(inWave("A", "b", "C"))).toBe("waitingCut");
    expect((await o.question())?.instead).toMatchObject({
      stands: [{ task: "w0t0", was: 'mailer "a"', now: 'mailer "A"' }],
      fresh: ['mailer "C"'],
      anew: 1,
    });
    expect(await o.decide("keep")).toBe("waitingTimer");
    expect(o.mailed.sort()).toEqual(["C", "a", "b"]);
    expect(await t.payloads(o.runId, "WavePlanned")).toMatchObject([{}, { tasks: ["w0t0", "w0t1", "w1t2"] }]);
    expect(await o.whole()).toEqual([]);
  });

  test("each of a sequence is a question of its own: none is let through for another", async () => {
    const o = office();
    await o.edit(inTurn("a", "b"));
    expect(await o.edit(inTurn("A", "B", "c"))).toBe("waitingCut");
    expect((await o.question())?.instead?.stands).toMatchObject([{ task: "w0t0", now: 'mailer "A"' }]);
    expect(await o.decide("keep")).toBe("waitingCut");
    expect((await o.question())?.instead?.stands).toMatchObject([{ task: "w1t0", now: 'mailer "B"' }]);
    expect(await o.decide("keep")).toBe("waitingTimer");
    expect(o.mailed).toEqual(["a", "b", "c"]);
    expect(await o.whole()).toEqual([]);
  });

  test("the edit taken back afterwards finds its own tasks again, and asks nobody", async () => {
    const o = office();
    await o.edit(inTurn("a"));
    await o.edit(inTurn("A"));
    expect(await o.decide("keep")).toBe("waitingTimer");
    expect(await o.edit(inTurn("a"))).toBe("waitingTimer");
    expect(o.mailed).toEqual(["a"]);
    expect(await o.whole()).toEqual([]);
  });

  test("is refused where nothing recorded could answer: a step in a task's place. Rerun lets it begin", async () => {
    const o = office();
    const sent: string[] = [];
    await o.edit(inTurn("a"));
    const step: Code = async (ctx) => await ctx.step("send", async () => sent.push("a"));
    expect(await o.edit(step)).toBe("waitingCut");
    expect((await o.question())?.instead).toMatchObject({ standing: 0, fresh: ["step send"] });
    expect((await readRun(o.stack.deps, { agent: AGENT, runId: o.runId }))?.reason).not.toContain("--keep");
    expect(await o.decide("keep")).toBe("cut.nothing_to_keep");
    expect(sent).toEqual([]);
    expect(await o.decide("rerun")).toBe("completed");
    expect(sent).toEqual(["a"]);
  });
});

describe("--rerun of a workflow's edit", () => {
  test("plans it anew, once, and asks about it no more", async () => {
    const o = office();
    await o.edit(inTurn("a", "b"));
    expect(await o.edit(inTurn("A", "B"))).toBe("waitingCut");
    expect(await o.decide("rerun")).toBe("waitingTimer");
    expect(o.mailed).toEqual(["a", "b", "A", "B"]);
    expect(await t.payloads(o.runId, "TasksGivenUp")).toEqual([{ tasks: ["w0t0", "w1t0"], generation: 2 }]);
    expect(await o.whole()).toEqual([]);
  });

  test("something put in front costs itself alone: what follows takes over its recorded tasks", async () => {
    const o = office();
    await o.edit(inTurn("a", "b"));
    expect(await o.edit(inTurn("first", "a", "b"))).toBe("waitingCut");
    expect(await o.decide("rerun")).toBe("waitingTimer");
    expect(o.mailed).toEqual(["a", "b", "first"]);
  });

  test("is about one edit: another one asks again", async () => {
    const o = office();
    await o.edit(inTurn("a"));
    await o.edit(inTurn("first", "a"));
    await o.decide("rerun");
    expect(await o.edit(inTurn("first", "A"))).toBe("waitingCut");
    expect((await o.question())?.calls).toEqual(["w0t0: mail"]);
    expect(o.mailed).toEqual(["a", "first"]);
  });
});

describe("nobody is asked", () => {
  test("where nothing new could do it again: a role without such tools in front, the rest taken over", async () => {
    const o = office();
    await o.edit(inTurn("a"));
    const planned: Code = async (ctx) => {
      await ctx.ask("writer", "a plan");
      return await inTurn("a")(ctx);
    };
    expect(await o.edit(planned)).toBe("waitingTimer");
    expect(o.mailed).toEqual(["a"]);
    expect(o.asked).toEqual(["a", "a plan"]);
    expect(await t.payloads(o.runId, "CutRequested")).toEqual([]);
  });

  test("but where it comes later, then: the edited task behind the new one", async () => {
    const o = office();
    await o.edit(inTurn("a"));
    const planned: Code = async (ctx) => {
      await ctx.ask("writer", "a plan");
      return await inTurn("A")(ctx);
    };
    expect(await o.edit(planned)).toBe("waitingCut");
    expect(o.asked).toEqual(["a", "a plan"]);
    expect(await o.question()).toMatchObject({
      reason: expect.stringContaining("WavePlanned mailer"),
      calls: ["w0t0: mail"],
    });
    expect(await o.decide("keep")).toBe("waitingTimer");
    expect(o.mailed).toEqual(["a"]);
    expect(await o.whole()).toEqual([]);
  });

  test("where what mailed is gone from the code: its effect stands, and is made by nobody else", async () => {
    const o = office();
    await o.edit(inTurn("a"));
    expect(await o.edit(async (ctx) => await ctx.ask("writer", "the end"))).toBe("completed");
    expect(o.mailed).toEqual(["a"]);
  });
});

describe("a question", () => {
  test("is asked once, however often somebody looks, and a decision about an earlier one is none about it", async () => {
    const o = office();
    await o.edit(inTurn("a"));
    await o.edit(inTurn("A"));
    const ref = { agent: AGENT, runId: o.runId, streamId: "run" };
    const head = (await o.stack.deps.store.runs.streams(AGENT, o.runId)).find((s) => s.streamId === "run")?.headSeq;
    for (let n = 0; n < 3; n++) {
      await o.stack.deps.queue.send([{ queue: "ticks", hint: { agent: AGENT, runId: o.runId, taskId: null } }]);
      await o.go();
    }
    expect(await t.payloads(o.runId, "CutRequested")).toHaveLength(1);
    expect(await o.edit(inTurn("quite another"))).toBe("waitingCut");
    const late = { kind: "cutDecision", decision: "rerun", by: "ann" } as const;
    await o.stack.deps.store.streams.deliver(ref, `cut:${head}`, late);
    await o.stack.deps.queue.send([{ queue: "ticks", hint: { agent: AGENT, runId: o.runId, taskId: null } }]);
    expect((await o.go())?.status).toBe("waitingCut");
    expect(await t.payloads(o.runId, "CutRequested")).toHaveLength(2);
    expect(o.mailed).toEqual(["a"]);
    expect(await o.decide("keep")).toBe("waitingTimer");
    expect(o.mailed).toEqual(["a"]);
  });

  test("waits for a step that runs here: it isn't given up for it", async () => {
    const o = office();
    let begun = 0;
    const both =
      (plan: string, text: string, waitMs: number): Code =>
      async (ctx) => {
        const planned = ctx.ask("writer", plan);
        const step = ctx.step("slow", async () => {
          begun++;
          await new Promise((r) => setTimeout(r, waitMs));
          return "slowly";
        });
        const said = await planned.then(() => ctx.ask("mailer", text));
        const slowly = await step;
        await ctx.sleep(HOUR_MS);
        return [said, slowly];
      };
    await o.edit(both("plan", "a", 0));
    expect(await o.edit(both("new plan", "A", 400))).toBe("waitingCut");
    expect(begun).toBe(2); // once by each code
    expect((await t.events(o.runId, "run")).filter((e) => e === "StepCompleted")).toHaveLength(2);
  });
});
