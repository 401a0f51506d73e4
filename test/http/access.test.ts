// Who may do what: every route that there is, with every scope, on a run of one's own agent and of another's.
import { describe, expect, test } from "@jest/globals";
import { REQUESTS_BURST, REQUESTS_PER_S } from "../../shared/core/limits.ts";
import { SCOPES, type Scope } from "../../shared/core/scopes.ts";
import { rateLimited } from "../../shared/http/access.ts";
import { ROUTES, type RouteEntry } from "../../shared/http/app.ts";
import { newKey } from "../../shared/http/auth.ts";
import type { Admission } from "../../shared/ports/keys.ts";
import { fakeApp, KEY_NAME, problem, RUN } from "./fakes.ts";

const as = (scopes: readonly Scope[], agents: readonly string[] | null = null): Admission => ({
  type: "admitted",
  caller: { keyId: "k", name: "limited", scopes, agents },
});
/** One key, which is what `admission` says. */
function client(admission: Admission) {
  const touched: string[] = [];
  const { ask, noted } = fakeApp({ admit: () => admission, touched });
  const send = (route: RouteEntry, body?: string) =>
    ask(route.path.replace("{runId}", RUN).replaceAll(/\{\w+\}/g, RUN), {
      method: route.method,
      ...(body === undefined ? {} : { body }),
    });
  return { send, ask, touched, noted };
}
const name = (route: RouteEntry): string => `${route.method} ${route.path}`;
const closed = ROUTES.filter((route) => route.scope !== "open");

test("only health, this description and what a page is made of are open", () => {
  expect(ROUTES.filter((route) => route.scope === "open").map(name)).toEqual(["GET /healthz", "GET /openapi.json"]);
});

describe.each(SCOPES)("a key with the scope %s", (scope) => {
  test.each(closed.map((route) => [name(route), route] as const))("%s", async (_, route) => {
    const { send, touched } = client(as([scope]));
    const response = await send(route);
    if (scope === route.scope || scope === "admin") return expect([401, 403]).not.toContain(response.status);
    expect([response.status, (await problem(response)).code]).toEqual([403, "auth.forbidden"]);
    expect(touched).toEqual([]); // nothing was asked of anybody before
  });
});

describe("a key that is for another agent", () => {
  test.each(closed.map((route) => [name(route), route] as const))("%s", async (_, route) => {
    const { send, touched } = client(as(["admin"], ["another"]));
    const response = await send(route, bodyOf(route));
    if (route.whole) expect([response.status, (await problem(response)).code]).toEqual([403, "auth.forbidden"]);
    else if (route.path.includes("{runId}")) {
      // As if there were no such run: not even that there is one is told.
      expect([response.status, (await problem(response)).code]).toEqual([404, "run.unknown"]);
      expect(touched.filter((call) => call !== "agentOf")).toEqual([]);
    } else if (bodyOf(route) !== undefined) expect((await problem(response)).code).toBe("auth.forbidden");
    else expect(await response.text()).not.toContain("echo");
  });

  test("lists hold its own agents alone, whatever it asks for", async () => {
    const filters: unknown[] = [];
    const list = async (filter: { agents?: readonly string[] }) => {
      filters.push(filter.agents);
      return { runs: [], next: null };
    };
    const { ask } = fakeApp({ admit: () => as(["read"], ["echo", "crew"]), store: { list } });
    for (const query of ["", "?agent=echo", "?agent=echo&agent=other", "?agent=other"]) await ask(`/runs${query}`);
    expect(filters).toEqual([["echo", "crew"], ["echo"], ["echo"], []]);
  });
});

/** A body that a route takes, where it names the agent. */
const bodyOf = (route: RouteEntry): string | undefined =>
  name(route) === "POST /runs" ? JSON.stringify({ agent: "echo", input: 1 }) : undefined;

describe("keys that are no longer good", () => {
  test.each([
    ["unknown", "auth.invalid"],
    ["revoked", "auth.revoked"],
    ["expired", "auth.expired"],
  ] as const)("%s: 401", async (type, code) => {
    for (const route of closed) {
      const { send, touched } = client({ type });
      const response = await send(route);
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="toren"']);
      expect((await problem(response)).code).toBe(code);
      expect(touched).toEqual([]);
    }
  });
});

describe("making keys", () => {
  const info = {
    id: RUN,
    name: "ci",
    begins: "toren_abcd",
    scopes: ["run" as const],
    agents: null,
    createdAt: 0,
    createdBy: KEY_NAME,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  };

  test("the key is in the answer alone, and who made it is noted", async () => {
    const made: unknown[] = [];
    const create = async (key: string, asked: object) => {
      made.push(key, asked);
      return info;
    };
    const { post, noted } = fakeApp({ keys: { create } });
    const response = await post("/keys", {
      name: " ci ",
      scopes: ["run", "run"],
      expiresAt: "2030-01-01T00:00:00+01:00",
    });
    const { key, ...rest } = (await response.json()) as { key: string };
    expect(response.status).toBe(201);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(made).toEqual([
      key,
      { name: "ci", scopes: ["run"], agents: null, expiresAt: Date.parse("2029-12-31T23:00:00Z"), createdBy: KEY_NAME },
    ]);
    expect(rest).toMatchObject({ id: RUN, createdAt: "1970-01-01T00:00:00.000Z" });
    expect(noted).toEqual([expect.objectContaining({ by: KEY_NAME, action: "key.created", subject: `ci ${RUN}` })]);
    expect(JSON.stringify(noted)).not.toContain(key);
  });

  test.each([
    {},
    { name: "x" },
    { name: "x", scopes: [] },
    { name: "x", scopes: ["root"] },
    { name: "", scopes: ["read"] },
    { name: "a\u001b[2Jb", scopes: ["read"] },
    { name: "x".repeat(101), scopes: ["read"] },
    { name: "x", scopes: ["read"], agents: [] },
    { name: "x", scopes: ["read"], agents: ["Not An Agent"] },
    { name: "x", scopes: ["read"], expiresAt: "tomorrow" },
    { name: "x", scopes: ["read"], key: "toren_mine" },
  ])("%j is refused", async (body) => {
    const { post, noted } = fakeApp();
    expect((await problem(await post("/keys", body))).code).toBe("request.invalid");
    expect(noted).toEqual([]);
  });

  test("one that is past already is refused; revoking names one that there is", async () => {
    const { post, ask, noted } = fakeApp();
    const past = await problem(await post("/keys", { name: "x", scopes: ["read"], expiresAt: "2020-01-01T00:00:00Z" }));
    expect(past.errors?.[0]?.path).toBe("$.expiresAt");
    for (const id of [RUN, "x", "%00"]) expect((await ask(`/keys/${id}`, { method: "DELETE" })).status).toBe(404);
    expect(noted).toEqual([]);
    const there = fakeApp({ keys: { revoke: async () => ({ ...info, revokedAt: 1 }) } });
    expect((await there.ask(`/keys/${RUN}`, { method: "DELETE" })).status).toBe(200);
    expect(there.noted).toMatchObject([{ action: "key.revoked" }]);
  });
});

describe("the audit", () => {
  test("what was refused isn't noted; what was done is, with the key that did it", async () => {
    const refusal = { type: "refused" as const, error: { code: "decision.taken" as const, message: "No." } };
    const refusing = fakeApp({ useCases: { decideApproval: async () => refusal } });
    expect((await refusing.post(`/runs/${RUN}/approvals`, { granted: true })).status).toBe(409);
    expect(refusing.noted).toEqual([]);
    const { post, noted } = fakeApp({ admit: () => as(["approve", "run"]) });
    await post(`/runs/${RUN}/approvals`, { granted: false, call: "c1", by: "somebody else" });
    await post(`/runs/${RUN}/resume`, { decision: "keep" });
    await post(`/runs/${RUN}/resume`, {});
    await post(`/runs/${RUN}/cancel`, {});
    const by = { by: "limited", keyId: "k", agent: "echo", runId: RUN };
    expect(noted).toEqual([
      { ...by, action: "call.denied", subject: "c1" },
      { ...by, action: "cut.kept", subject: null },
      { ...by, action: "run.cancelled", subject: null },
    ]);
  });

  test("is read a page at a time; a cursor that no page gave is refused", async () => {
    const row = { by: "a", keyId: null, action: "run.started" as const, agent: "echo", runId: RUN, subject: null };
    const asked: unknown[] = [];
    const page = async (filter: { limit: number }) => {
      asked.push(filter);
      return Array.from({ length: filter.limit }, (_, i) => ({ ...row, id: 40 - i, at: 0 }));
    };
    const { ask } = fakeApp({ audit: { page } });
    const first = (await (await ask(`/audit?limit=2&run=${RUN}`)).json()) as { next: string; entries: unknown[] };
    expect(first.entries).toEqual([{ ...row, at: "1970-01-01T00:00:00.000Z" }, expect.anything()]);
    await ask(`/audit?limit=2&cursor=${first.next}`);
    expect(asked).toEqual([
      { runId: RUN, limit: 3 },
      { before: 39, limit: 3 },
    ]);
    for (const query of ["cursor=x", "cursor=a1.", "run=x", "limit=0", "limit=201"])
      expect((await ask(`/audit?${query}`)).status).toBe(400);
  });
});

describe("how often a key may ask", () => {
  test("a burst, then so many a second; another key isn't held up", async () => {
    let now = 0;
    const limit = rateLimited(() => now);
    const ask = async (keyId: string): Promise<boolean> => {
      let passed = false;
      const c = { get: () => ({ keyId }) } as never;
      await limit(c, async () => {
        passed = true;
      }).catch((e: { code: string }) => expect(e.code).toBe("request.too_many"));
      return passed;
    };
    for (let i = 0; i < REQUESTS_BURST; i++) expect(await ask("a")).toBe(true);
    expect(await ask("a")).toBe(false);
    expect(await ask("b")).toBe(true);
    now += 1_000;
    let passed = 0;
    for (let i = 0; i < 2 * REQUESTS_PER_S; i++) if (await ask("a")) passed++;
    expect(passed).toBe(REQUESTS_PER_S);
  });

  test("too many is 429 and says when to come again", async () => {
    const { ask } = fakeApp();
    const answers = await Promise.all(Array.from({ length: REQUESTS_BURST + 50 }, async () => await ask("/agents")));
    const refused = answers.filter((response) => response.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers.get("retry-after")).toBe("1");
    expect((await problem(refused[0] as Response)).code).toBe("request.too_many");
  });
});

test("a mistyped key never reaches the database", async () => {
  const asked: string[] = [];
  const { app } = fakeApp({
    admit: (key) => {
      asked.push(key);
      return { type: "unknown" };
    },
  });
  const key = newKey();
  await app.request("/agents", { headers: { authorization: `Bearer ${key.slice(0, -1)}` } });
  await app.request("/agents", { headers: { authorization: `Bearer ${key}` } });
  expect(asked).toEqual([key]);
});
