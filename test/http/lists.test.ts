import { describe, expect, test } from "@jest/globals";
import type { OverviewJson } from "../../shared/http/overview.ts";
import { fakeApp, problem, RUN } from "./fakes.ts";

describe("lists of runs", () => {
  test.each(["?limit=0", "?limit=201", "?limit=x", "?status=done", "?agents=echo"])(
    "GET /runs%s is refused",
    async (query) => {
      expect((await fakeApp().ask(`/runs${query}`)).status).toBe(400);
    },
  );

  test("filters: lists come repeated or with commas, times in RFC 3339, labels by their keys", async () => {
    const filters: unknown[] = [];
    const list = async (filter: unknown) => {
      filters.push(filter);
      return { runs: [], next: null };
    };
    const { ask } = fakeApp({ store: { list } });
    const query =
      "agent=echo&agent=crew&status=failed,running&process=p&since=1970-01-01T01:00:00%2B01:00&text=A-1&attributes.k=v&attributes.l.m=w";
    expect((await ask(`/runs?${query}`)).status).toBe(200);
    expect(filters).toEqual([
      {
        agents: ["echo", "crew"],
        statuses: ["failed", "running"],
        process: "p",
        since: 0,
        text: "A-1",
        attributes: { k: "v", "l.m": "w" },
        limit: 50,
      },
    ]);
  });

  test.each([
    "status=failed,",
    "since=yesterday",
    "since=2026-13-01T00:00:00Z",
    "until=2026-11-30",
    "text=",
    `text=${"x".repeat(201)}`,
    "process=a&process=b",
    "attributes=v",
    "attributes.=v",
    "attributes.1=v",
    "attributes.k=",
    "attributes.k=%00",
    "attributes.k=a&attributes.k=b",
    "cursor=",
  ])("GET /runs?%s is refused", async (query) => {
    const response = await fakeApp().ask(`/runs?${query}`);
    expect([response.status, (await problem(response)).code]).toEqual([400, "request.invalid"]);
  });

  test("a list holds no inputs and outputs, and times in RFC 3339", async () => {
    const row = {
      agent: "echo",
      runId: RUN,
      process: "main",
      mode: "task" as const,
      status: "completed" as const,
      input: "secret",
      output: "secret",
      error: null,
      generation: 1,
      attributes: { customer: "<b>acme</b>" },
      parent: null,
      spent: { modelCalls: 2, tokens: 30, nanoUsd: 1_500_000, unpriced: 0, simulated: false },
      createdAt: 0,
      endedAt: 1_000,
    };
    const filters: unknown[] = [];
    const list = async (filter: unknown) => {
      filters.push(filter);
      return { runs: [row], next: "c" };
    };
    const response = await fakeApp({ store: { list } }).ask("/runs?agent=echo&status=completed&cursor=b&limit=3");
    const text = await response.text();
    expect(text).not.toContain("secret");
    expect(JSON.parse(text)).toMatchObject({
      runs: [{ runId: RUN, endedAt: "1970-01-01T00:00:01.000Z", modelCalls: 2, tokens: 30, costUsd: 0.0015 }],
      next: "c",
    });
    expect(filters).toEqual([{ agents: ["echo"], statuses: ["completed"], before: "b", limit: 3 }]);
  });
});

describe("the overview", () => {
  test("adds agents up, oldest first; large arguments stay with the run", async () => {
    const ask = (key: string, args: string) => ({
      taskId: "w0t0",
      toolUseId: key,
      tool: "pay",
      args,
      key,
      reason: "approval" as const,
      requestedAt: 0,
      expiresAt: null,
      decided: null,
      large: key === "k3",
    });
    const run = (createdAt: number, ...approvals: ReturnType<typeof ask>[]) => ({
      runId: RUN,
      process: "main",
      status: "waitingApproval" as const,
      createdAt,
      approvals,
      cuts: [],
    });
    const fake = fakeApp({
      overview: {
        agents: async () => ["a", "b"],
        counts: async (name) => (name === "a" ? { failed: 2 } : { failed: 1, running: 4 }),
        waiting: async (name) => [
          name === "a" ? run(2_000, ask("k1", "x".repeat(5_000))) : run(1_000, ask("k2", "<b>"), ask("k3", "")),
        ],
        paidToday: async () => ({ nanoUsd: 250_000_000, simulated: false }),
      },
    });
    const seen = (await (await fake.ask("/overview")).json()) as OverviewJson;
    expect(seen).toMatchObject({ today: { costUsd: 0.5, simulated: false }, stuck: [], errors: [] });
    expect(seen.runs).toMatchObject({ failed: 3, running: 4, completed: 0 });
    expect(seen.waiting.map((w) => w.agent)).toEqual(["b", "a"]);
    expect(seen.waiting[0]?.approvals).toMatchObject([
      { call: "k2", args: "<b>", omitted: false },
      { call: "k3", omitted: true },
    ]);
    expect(seen.waiting[1]?.approvals).toMatchObject([{ call: "k1", args: null, omitted: true }]);
  });
});
