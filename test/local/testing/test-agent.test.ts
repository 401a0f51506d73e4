// The kit by what its users see, over agents that are written here.
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type TestAgent, type TestAgentOptions, testAgent } from "../../../local/testing/index.ts";
import { agentFolder } from "../load/agent-folder.ts";

const { agents, write } = agentFolder();
const opened: TestAgent[] = [];
afterEach(async () => {
  for (const agent of opened.splice(0)) await agent[Symbol.asyncDispose]();
});

async function open(name: string, options?: TestAgentOptions): Promise<TestAgent> {
  const agent = await testAgent(join(agents, name), options);
  opened.push(agent);
  return agent;
}
const yaml = (name: string, more: string): void =>
  write(
    `${name}/agent.yaml`,
    `name: ${name}\ndescription: A test.\nmodel: openai/gpt-5-mini\nsystem: Be brief.\n${more}`,
  );
const HOUR_MS = 3_600_000;

yaml("plain", "");
yaml("desk", "tools: [pay]\napprovalTimeout: 24h\n");
write(
  "desk/tools.ts",
  `import { defineTool } from "toren";
   import * as z from "zod";
   export const pay = defineTool({ description: "Pays.", input: z.object({ sum: z.number() }), effects: "external", idempotency: "keyed",
     approval: "always", handler: ({ sum }) => "paid " + sum });`,
);
yaml("talk", "mode: session\n");
write(
  "sleeper/agent.yaml",
  "name: sleeper\ndescription: A test.\ndefaults: { model: openai/gpt-5-mini }\nroles: { helper: { system: Help. } }\n",
);
write(
  "sleeper/workflows/main.ts",
  `import { defineWorkflow } from "toren";
   export default defineWorkflow(async (ctx) => {
     const before = await ctx.now();
     await ctx.sleep(3_600_000);
     const slept = (await ctx.now()) - before;
     return [slept >= 3_600_000, await ctx.ask("helper", "after an hour")];
   });`,
);
write(
  "waves/agent.yaml",
  "name: waves\ndescription: A test.\ndefaults: { model: openai/gpt-5-mini }\nroles: { one: { system: One. }, two: { system: Two. } }\n",
);
write(
  "waves/workflows/main.ts",
  `import { defineWorkflow } from "toren";
   export default defineWorkflow(async (ctx) => {
     const { results } = await ctx.wave("parts", ["a", "b", "c"].map((part) => ctx.task("one", part)));
     return ctx.ask("two", results.map((r) => r.output).join(" "));
   });`,
);
const pay = { tools: [{ name: "pay", args: { sum: 7 } }] };

describe("a run in a test", () => {
  test("ends with what its model's script says, and each question is counted by role", async () => {
    const agent = await open("waves", { models: { one: ({ text }) => `<${text}>`, two: ["done"] } });
    const run = await agent.start("x");
    expect(await run.until("ended")).toBe("completed");
    expect(await run.result()).toEqual({ status: "completed", output: "done", error: null });
    expect([agent.modelCalls("one"), agent.modelCalls("two"), agent.modelCalls()]).toEqual([3, 1, 4]);
  });

  test("runs of one agent don't disturb each other", async () => {
    const agent = await open("waves", { models: { one: ({ text }) => `<${text}>`, two: ({ text }) => text } });
    const runs = await Promise.all([1, 2, 3].map(() => agent.start("x")));
    for (const run of runs) expect(await run.until("ended")).toBe("completed");
    expect((await runs[2]?.result())?.output).toBe("<a> <b> <c>");
  });

  test("parks for a person; who approves lets the call run", async () => {
    const agent = await open("desk", { models: { main: [pay, "done"] } });
    const run = await agent.start("pay me");
    expect(await run.until("parked")).toBe("waitingApproval");
    expect(agent.modelCalls()).toBe(1);
    await run.approve("ann", "fine");
    expect(await run.until("ended")).toBe("completed");
    await expect(run.approve("bob")).rejects.toMatchObject({ code: "run.ended" });
  });

  test("the model reads who denied a call, and why", async () => {
    const agent = await open("desk", { models: { main: ({ text, n }) => (n === 0 ? pay : text) } });
    const run = await agent.start("pay me");
    await run.until("parked");
    await run.deny("ann", "too much");
    await run.until("ended");
    expect((await run.result()).output).toContain("ann did not allow this call");
  });

  test("an answer that the provider refuses for now is asked for again, without waiting for real", async () => {
    const agent = await open("plain", { models: { main: [{ status: 529 }, { status: 429 }, "at last"] } });
    const run = await agent.start("x");
    expect(await run.until("ended")).toBe("completed");
    expect(agent.modelCalls()).toBe(3);
  });

  test("a session goes on with what is said to it, and ends when it is closed", async () => {
    const agent = await open("talk", { models: { main: ({ text }) => `re ${text}` } });
    const run = await agent.start("one", { mode: "session" });
    expect(await run.until("parked")).toBe("awaitingInput");
    await run.send("two");
    expect(await run.until("parked")).toBe("awaitingInput");
    expect(agent.modelCalls()).toBe(2);
    await run.send("three", { close: true });
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toBe("re three");
  });
});

describe("virtual time", () => {
  test("a timer of an hour rings when the clock has been put forward, not before", async () => {
    const agent = await open("sleeper", { models: { helper: ["awake"] } });
    const run = await agent.start("x");
    expect(await run.until("parked")).toBe("waitingTimer");
    await run.advance(HOUR_MS / 2);
    expect(await run.until("parked")).toBe("waitingTimer");
    expect(agent.modelCalls()).toBe(0);
    await run.advance(HOUR_MS / 2);
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toEqual([true, "awake"]);
  });

  test("an approval that nobody gives expires", async () => {
    const agent = await open("desk", { models: { main: ({ text, n }) => (n === 0 ? pay : text) } });
    const run = await agent.start("pay me");
    await run.until("parked");
    await run.advance(24 * HOUR_MS);
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toContain("nobody decided in time");
  });

  test("I8: work under way keeps its lease however far the clock goes: nothing is asked twice", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<string>();
    const agent = await open("plain", {
      models: {
        main: () => {
          asked.resolve();
          return answer.promise;
        },
      },
    });
    const run = await agent.start("x");
    await asked.promise;
    await run.advance(48 * HOUR_MS);
    await new Promise((resolve) => setTimeout(resolve, 200)); // the guardian has looked many times by then
    answer.resolve("yes");
    expect(await run.until("ended")).toBe("completed");
    expect(agent.modelCalls()).toBe(1);
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("doesn't go by %d", async (ms) => {
    const agent = await open("plain", { models: { main: ["x"] } });
    const run = await agent.start("x");
    await expect(run.advance(ms)).rejects.toThrow(RangeError);
  });
});

describe("a worker that dies", () => {
  test("I5: what is recorded isn't asked again; the question under way is, and gets the turn that it had", async () => {
    const second = Promise.withResolvers<void>();
    const agent = await open("waves", {
      models: {
        one: ["a", "b", "c"],
        two: ({ n }) => {
          if (n > 0) return "done";
          second.resolve();
          return new Promise(() => {});
        },
      },
    });
    const run = await agent.start("x");
    await second.promise;
    await run.kill();
    expect(await run.until("ended")).toBe("completed");
    expect([agent.modelCalls("one"), agent.modelCalls("two")]).toEqual([3, 2]);
  });

  test("again and again, at any moment, and the run ends the same", async () => {
    const agent = await open("waves", { models: { one: ({ text }) => `<${text}>`, two: ({ text }) => text } });
    const run = await agent.start("x");
    for (const ms of [0, 15, 40, 70]) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      await run.kill();
    }
    expect(await run.until("ended")).toBe("completed");
    expect((await run.result()).output).toBe("<a> <b> <c>");
  });

  test("a parked run costs the next worker nothing", async () => {
    const agent = await open("desk", { models: { main: [pay, "done"] } });
    const run = await agent.start("x");
    await run.until("parked");
    await run.kill();
    expect(await run.until("parked")).toBe("waitingApproval");
    await run.approve("ann");
    await run.until("ended");
    expect(agent.modelCalls()).toBe(2);
  });
});

describe("what is wrong is said", () => {
  test("a script that has run out: by whom it was asked, and what", async () => {
    const agent = await open("desk", { models: { main: [pay] } });
    const run = await agent.start("x");
    await run.until("parked");
    await run.approve("ann");
    await expect(run.until("ended")).rejects.toThrow(
      'The script of role "main" has 1 turn, and this is one question more. It was asked: "paid 7"',
    );
  });

  test("a role that asks without a script; a script for a role that isn't there", async () => {
    const agent = await open("waves", { models: { two: ["x"] } });
    const run = await agent.start("x");
    await expect(run.until("ended")).rejects.toThrow('there is no script for it: give `models.one`. It was asked: "');
    await expect(open("waves", { models: { tow: ["x"] } })).rejects.toThrow(/no role "tow".*"two"/);
    expect(() => agent.modelCalls("tow")).toThrow(/no role "tow"/);
  });

  test("waiting for an end that only a person can bring, or for a park that doesn't come", async () => {
    const agent = await open("desk", { models: { main: [pay, "done"] } });
    const run = await agent.start("x");
    await expect(run.until("ended")).rejects.toThrow(
      /parked as waitingApproval, and its clock rings in \d+ ms: advance/,
    );
    await run.approve("ann");
    await run.until("ended");
    await expect(run.until("parked")).rejects.toThrow("The run doesn't park: it ended as completed.");
  });

  test("a model that never answers, within the bound", async () => {
    const agent = await open("plain", { models: { main: () => new Promise(() => {}) } });
    const run = await agent.start("x");
    await expect(run.until("ended", { timeoutMs: 300 })).rejects.toThrow("still running after 300 ms, and not ended");
  });

  test("a start that is refused, a decision that nobody waits for, a message to no session, a signal", async () => {
    const agent = await open("plain", { models: { main: ["x"] } });
    await expect(agent.start("x", { process: "mian" })).rejects.toMatchObject({ code: "process.unknown" });
    await expect(agent.start("x", { mode: "session" })).rejects.toMatchObject({ code: "request.invalid" });
    const run = await agent.start("x");
    await run.until("ended");
    await expect(run.send("hello")).rejects.toMatchObject({ code: "run.not_a_session" });
    await expect(run.signal("go", null)).rejects.toMatchObject({ code: "run.ended" });
    await expect(run.deny("ann")).rejects.toMatchObject({ code: "run.ended" });
  });

  test("a folder that is no agent", async () => {
    await expect(testAgent(join(agents, "nobody"))).rejects.toMatchObject({ code: "agent.invalid" });
    yaml("broken", "tools: [nope]\n");
    await expect(testAgent(join(agents, "broken"))).rejects.toThrow(/broken\/agent.yaml:\d+: .*nope/);
  });
});
