import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../shared/core/json.ts";
import type { RunFilter } from "../../../shared/ports/store.ts";
import { type Bench, completed, event, failed, SHORT_LEASE_MS, uuid, wave } from "./bench.ts";

export function runSuite(get: () => Bench): void {
  describe("runs", () => {
    test("a run is there whole: row, stream, RunCreated, files, and its place in the index", async () => {
      const b = get();
      const runId = await b.run({ process: "other", input: { a: [1] }, generation: 3, files: ["f2", "f1"] });
      expect(await b.row(runId)).toEqual({
        agent: b.agent,
        runId,
        process: "other",
        retries: 0,
        mode: "task",
        status: "created",
        input: { a: [1] },
        output: null,
        error: null,
        generation: 3,
        createdAt: expect.any(Number),
        endedAt: null,
        budget: null,
        attributes: {},
        facts: 0,
        forkedFrom: null,
        parent: null,
      });
      const [created] = await b.store.streams.read(b.stream(runId), 0);
      expect(created).toMatchObject({ seq: 1, type: "RunCreated", payload: { process: "other", input: { a: [1] } } });
      expect(await b.store.runs.files(b.agent, runId)).toEqual(["f2", "f1"]);
      expect(await b.store.runs.agentOf(runId)).toBe(b.agent);
      expect(await b.streamRow(b.stream(runId))).toMatchObject({
        status: "ready",
        headSeq: 1,
        wakeAt: expect.any(Number),
      });
    });

    test("the run of an idempotency key is found, with whether its request was the same", async () => {
      const b = get();
      const request = { agent: b.agent, process: "main", input: { a: 1 }, files: [] };
      expect(await b.store.runs.existing(request, "k")).toBeNull();
      const runId = await b.run({ ...request, idempotencyKey: "k" });
      expect(await b.store.runs.existing(request, "k")).toEqual({ runId, same: true });
      expect(await b.store.runs.existing({ ...request, input: 2 }, "k")).toEqual({ runId, same: false });
    });

    test("the trace of a run is found from each of its streams, with whether there is anything to do", async () => {
      const b = get();
      const traceContext = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      const runId = await b.run({ traceContext });
      const run = await b.take(b.stream(runId));
      await run.plan(wave(0, 1));
      const task = b.stream(runId, "task:w0t0");
      const { traces } = b.store;
      expect(await traces.of(b.stream(runId))).toEqual({ traceContext, role: null, atRest: true });
      expect(await traces.of(task)).toEqual({ traceContext, role: "worker", atRest: false });
      const short = await b.take(task, { leaseMs: SHORT_LEASE_MS });
      await b.passTime(SHORT_LEASE_MS + 20);
      expect(await traces.of(task)).toMatchObject({ atRest: false }); // its writer is dead
      await b.end(task, completed());
      expect(await traces.of(task)).toMatchObject({ atRest: true });
      expect(await short.append([event("Late")])).toEqual({ type: "conflict" });
      await run.write([event("Done")], completed());
      expect(await traces.of(b.stream(runId))).toMatchObject({ atRest: true });
      expect(await traces.of(b.stream(await b.run()))).toMatchObject({ traceContext: null, atRest: false });
      expect(await traces.of(b.stream(uuid()))).toBeNull();
    });

    test("unknown runs are null", async () => {
      const b = get();
      expect(await b.store.runs.get(b.agent, uuid())).toBeNull();
      expect(await b.store.runs.agentOf(uuid())).toBeNull();
      expect(await b.store.runs.streams(b.agent, uuid())).toEqual([]);
    });

    test("an idempotency key makes one run, however many ask at once, and tells another request from the same", async () => {
      const b = get();
      const idempotencyKey = uuid();
      const ask = (input: number) => {
        const rest = { process: "main", generation: 1, codeHash: "h", idempotencyKey, files: [] };
        return (input % 2 ? b.store : b.other).runs.create({ agent: b.agent, runId: uuid(), input, ...rest });
      };
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(1)));
      expect(answers.filter((a) => a.type === "created")).toHaveLength(1);
      expect(new Set(answers.map((a) => a.runId)).size).toBe(1);
      expect(answers.every((a) => a.same)).toBe(true);
      expect(await ask(2)).toEqual({ type: "existing", runId: answers[0]?.runId, same: false });
      expect(await b.store.runs.agentOf(answers[0]?.runId ?? "")).toBe(b.agent);
    });

    test("lists are newest first, page by page without a gap, and by status", async () => {
      const b = get();
      const ids: string[] = [];
      for (let i = 0; i < 7; i++) ids.unshift(await b.run());
      const done = ids[3] as string;
      await (await b.take(b.stream(done))).write([event("RunCompleted")], completed());
      const seen: string[] = [];
      let before: string | undefined;
      for (let page = 0; page < 3; page++) {
        const { runs, next } = await b.store.runs.list({
          ...(page % 2 ? { agents: [b.agent] } : {}),
          limit: 3,
          ...(before === undefined ? {} : { before }),
        });
        seen.push(...runs.map((r) => r.runId));
        before = next ?? undefined;
      }
      expect(seen.slice(0, 7)).toEqual(ids);
      expect(new Set(seen).size).toBe(seen.length);
      const { runs } = await b.store.runs.list({ agents: [b.agent], statuses: ["completed"], limit: 1 });
      expect(runs.map((r) => r.runId)).toEqual([done]);
      expect(Object.keys(runs[0] ?? {})).not.toContain("input");
      expect(Object.keys(runs[0] ?? {})).not.toContain("output");
      await expect(b.store.runs.list({ limit: 3, before: "'; --" })).rejects.toMatchObject({ code: "request.invalid" });
    });

    test("lists are of what fits all that is asked: agents, statuses, process, time, words, attributes, an id's beginning", async () => {
      const b = get();
      const eu = { region: "eu", customer: "O'Hara \\ 'x' & !" };
      const other = await b.run({
        process: "search",
        input: { order: "A-1002", note: "Ärger in 東京" },
        attributes: eu,
      });
      const main = await b.run({ process: "search", input: ["refund A-1002"], attributes: { region: "us" } });
      await (await b.take(b.stream(main))).write([event("RunFailed")], failed);
      const listed = async (filter: Partial<RunFilter>): Promise<string[]> => {
        const { runs } = await b.store.runs.list({ process: "search", limit: 10, ...filter });
        return runs.map((run) => run.runId);
      };
      expect(await listed({})).toEqual([main, other]);
      expect(await listed({ agents: ["nobody"] })).toEqual([]);
      expect(await listed({ agents: ["nobody", b.agent], statuses: ["failed", "running"] })).toEqual([main]);
      expect(await listed({ statuses: ["failed", "created"] })).toEqual([main, other]);
      expect(await listed({ process: "nothing" })).toEqual([]);
      for (const text of ["1002", "a-10", "A-1002", "100 a"]) expect(await listed({ text })).toEqual([main, other]);
      for (const text of ["ärger", "京", "東京", "order is", "note"]) {
        expect([text, await listed({ text })]).toEqual([text, text.includes("o") ? [] : [other]]);
      }
      expect(await listed({ text: "refund", statuses: ["created"] })).toEqual([]);
      expect(await listed({ text: "??" })).toEqual([]);
      expect(await listed({ attributes: { region: "eu" } })).toEqual([other]);
      expect(await listed({ attributes: eu, text: "ärger" })).toEqual([other]);
      expect(await listed({ attributes: { ...eu, region: "us" } })).toEqual([]);
      expect(await listed({ attributes: { region: "e" } })).toEqual([]);
      expect(await listed({ text: main.slice(0, 13) })).toEqual([main]);
      expect(await listed({ text: main, statuses: ["completed"] })).toEqual([]);
      expect(await listed({ text: other, attributes: { region: "us" } })).toEqual([]);
      const { createdAt } = await b.row(other);
      expect(await listed({ since: createdAt - 60_000, until: createdAt + 60_000 })).toEqual([main, other]);
      expect(await listed({ until: createdAt - 60_000 })).toEqual([]);
      expect(await listed({ since: createdAt + 60_000 })).toEqual([]);
      expect((await b.row(other)).attributes).toEqual(eu);
    });

    test("pages of a filtered list follow each other without a gap", async () => {
      const b = get();
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.unshift(await b.run({ input: "pagination words", attributes: { page: "yes" } }));
      const texts = [{ text: "pagina" }, { attributes: { page: "yes" } }, { statuses: ["created", "failed"] as const }];
      for (const filter of texts) {
        const seen: string[] = [];
        for (let before: string | undefined; ; ) {
          const more = before === undefined ? {} : { before };
          const page = await b.store.runs.list({ ...filter, limit: 2, ...more });
          seen.push(...page.runs.map((run) => run.runId));
          before = page.next ?? undefined;
          if (before === undefined || seen.length > 5) break;
        }
        const times = await Promise.all(seen.map(async (id) => (await b.row(id)).createdAt));
        expect(times).toEqual(times.toSorted((x, y) => y - x)); // some may be of one moment
        expect(seen.filter((id) => ids.includes(id)).toSorted()).toEqual(ids.toSorted());
      }
    });

    test("a list says what the model calls of each run came to, whatever form of append recorded them", async () => {
      const b = get();
      const { runId, run, tasks } = await b.planned(2);
      const [first, second] = await Promise.all(tasks.map((task) => b.take(task)));
      if (first === undefined || second === undefined) throw new Error("no tasks");
      const usage = { input: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: 1 };
      const asked = event("LlmCallStarted", { stepId: "s", requestDigest: "d" });
      const answer = (cost?: Json) =>
        event("LlmCallCompleted", { stepId: "s", response: {}, usage, ...(cost === undefined ? {} : { cost }) });
      const spent = async () => (await b.store.runs.list({ text: runId, limit: 1 })).runs[0]?.spent;
      expect(await spent()).toEqual({ modelCalls: 0, tokens: 0, nanoUsd: 0, unpriced: 0, simulated: false });
      await first.write([asked, answer({ usd: 0.1, simulated: false })]);
      await Promise.all([first, second].map((writer) => writer.write([asked, answer({ usd: 0.2, simulated: false })])));
      expect(await spent()).toEqual({ modelCalls: 3, tokens: 30, nanoUsd: 500_000_000, unpriced: 0, simulated: false });
      await first.write([event("StreamInvalidated", { fromSeq: 1, reason: "edit", generation: 1 })]); // paid all the same
      await second.write([asked, answer()]);
      await second.write([asked, answer({ usd: 0.000000001, simulated: true })], completed());
      expect(await spent()).toEqual({ modelCalls: 5, tokens: 50, nanoUsd: 500_000_001, unpriced: 1, simulated: true });
      await run.write([event("RunCompleted")], completed());
      expect(await spent()).toMatchObject({ modelCalls: 5 });
    });

    test("labels are part of what makes a request the same", async () => {
      const b = get();
      const request = { agent: b.agent, process: "main", input: 1, files: [], attributes: { a: "1" } };
      await b.run({ ...request, idempotencyKey: "labelled" });
      expect(await b.store.runs.existing(request, "labelled")).toMatchObject({ same: true });
      expect(await b.store.runs.existing({ ...request, attributes: { a: "2" } }, "labelled")).toMatchObject({
        same: false,
      });
      expect(await b.store.runs.existing({ ...request, attributes: {} }, "labelled")).toMatchObject({ same: false });
    });

    test("a price is of the answers that stand; one without a cost makes it unknown, never zero", async () => {
      const b = get();
      const { runId, tasks } = await b.planned(2);
      const [first, second] = tasks;
      if (first === undefined || second === undefined) throw new Error("no tasks");
      const answer = (usd: number | null, simulated = false) =>
        event("LlmCallCompleted", { stepId: "s", response: {}, ...(usd === null ? {} : { cost: { usd, simulated } }) });
      const priced = (...taskIds: string[]) => b.store.tasks.price(b.agent, runId, taskIds, []);
      const writer = await b.take(first);
      await writer.write([answer(0.1), answer(0.2), answer(7)]);
      expect(await priced("w0t0", "w0t1")).toEqual({ modelCalls: 3, usd: 7.3, simulated: false });
      await writer.write([
        event("StreamInvalidated", { fromSeq: 3, reason: "edit", generation: 2 }),
        answer(0.7, true),
      ]);
      expect(await priced("w0t0", "w0t1")).toEqual({ modelCalls: 3, usd: 1, simulated: true });
      await (await b.take(second)).write([answer(null)]);
      expect(await priced("w0t0", "w0t1")).toEqual({ modelCalls: 4, usd: null, simulated: true });
      expect(await priced("w0t0")).toMatchObject({ usd: 1 });
      expect(await priced()).toEqual({ modelCalls: 0, usd: 0, simulated: false });
    });

    test("call events hold usage and what the receipt needs, never what was said", async () => {
      const b = get();
      const { runId, tasks } = await b.planned(1);
      const [task] = tasks;
      if (task === undefined) throw new Error("no task");
      const usage = { input: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: 0 };
      const writer = await b.take(task);
      await writer.write([
        event("TaskStarted", { attempt: 1, specDigest: "d" }),
        event("LlmCallStarted", { stepId: "s1", requestDigest: "d1:x", model: "m", purpose: "step" }),
        event("LlmCallCompleted", { stepId: "s1", response: { content: [{ type: "text", text: "secret" }] }, usage }),
        event("ToolCallStarted", {
          stepId: "s1",
          toolUseId: "u",
          tool: "pay",
          args: { secret: 1 },
          effects: "external",
          idempotency: "none",
        }),
        event("ToolCallStarted", {
          stepId: "s1",
          toolUseId: "v",
          tool: "look",
          args: {},
          effects: "none",
          idempotency: "none",
        }),
        event("ToolCallCompleted", { stepId: "s1", toolUseId: "u", result: "secret", isError: false }),
        event("ToolCallCompleted", { stepId: "s1", toolUseId: "v", result: "secret", isError: false }),
        event("StreamInvalidated", { fromSeq: 4, reason: "edit", generation: 2 }),
        event("TaskCompleted", { result: "secret" }),
      ]);
      const events = await b.store.runs.callEvents(b.agent, runId);
      expect(events.map((e) => [e.streamId, e.event.seq])).toEqual(
        Array.from({ length: 9 }, (_, i) => ["task:w0t0", i + 1]),
      );
      expect(events[2]?.event.payload).toEqual({ stepId: "s1", usage });
      expect(events[8]?.event).toMatchObject({ type: "TaskCompleted", payload: {} });
      expect(JSON.stringify(events)).not.toContain("secret");
      expect(await b.store.tasks.unrepeatable(b.agent, runId, ["w0t0", "w0t1"])).toEqual([
        { taskId: "w0t0", tool: "pay" },
      ]);
      expect(await b.store.tasks.unrepeatable(b.agent, runId, [])).toEqual([]);
    });
  });
}
