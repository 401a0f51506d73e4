// Keys and schedules from the command line, over a real server.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../shared/adapters/model/script.ts";
import type { KeyJson, MadeKeyJson } from "../../shared/http/keys.ts";
import type { ScheduleJson, ScheduleWithTimesJson } from "../../shared/http/schedules.ts";
import { type Bench, createBench } from "./harness.ts";

let bench: Bench;
let url: string;
beforeAll(async () => {
  bench = await createBench();
  url = (await bench.serve(createScriptedModel(() => "hi"))).record.url;
});
afterAll(() => bench.close());

const json = async <T>(...args: string[]): Promise<T> => {
  const { status, value } = await bench.json(args);
  expect([args, status]).toEqual([args, 0]);
  return value;
};

test("a key is made, may do what it may, is listed without its secret, and is revoked", async () => {
  const made = await json<MadeKeyJson>(
    "keys",
    "create",
    "shop",
    "--scope",
    "run",
    "--scope",
    "read",
    "--agent",
    "echo",
    "--expires",
    "1h",
  );
  expect(made).toMatchObject({ name: "shop", scopes: ["run", "read"], agents: ["echo"], createdBy: "dev key" });
  const as = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${made.key}` } });
  const start = (agent: string) => as("/runs", { method: "POST", body: JSON.stringify({ agent, input: "x" }) });
  expect((await start("echo")).status).toBe(201);
  expect((await start("crew")).status).toBe(403);
  expect((await as("/keys")).status).toBe(403);
  const { runs } = (await (await as("/runs")).json()) as { runs: { agent: string }[] };
  expect(runs.map((run) => run.agent)).toEqual(["echo"]);
  const listed = await bench.toren(["keys", "list"]);
  expect(listed.out).toContain(made.id);
  expect(listed.out).not.toContain(made.key.slice(12));
  expect((await json<{ keys: KeyJson[] }>("keys", "list")).keys[0]?.lastUsedAt).not.toBeNull();
  expect((await bench.toren(["keys", "revoke", made.id])).err).toContain("shop is revoked.");
  expect((await as("/runs")).status).toBe(401);
  const audit = (await (
    await fetch(`${url}/audit`, { headers: { authorization: `Bearer ${await adminKey()}` } })
  ).json()) as { entries: { action: string; by: string }[] };
  expect(audit.entries.map(({ action, by }) => `${by}: ${action}`)).toEqual([
    "dev key: key.created",
    "dev key: key.revoked",
    "shop: run.started",
    "dev key: key.created",
  ]);
});

/** One of an admin, as another program would have it. */
const adminKey = async (): Promise<string> =>
  (await json<MadeKeyJson>("keys", "create", "reader", "--scope", "admin")).key;

test("a key without a scope, with one that isn't, or a length of time that is none is refused before anything is made", async () => {
  for (const args of [
    ["x"],
    ["x", "--scope", "root"],
    ["x", "--scope", "read", "--expires", "soon"],
    ["", "--scope", "read"],
  ])
    expect((await bench.toren(["keys", "create", ...args])).status).toBe(2);
  expect((await bench.toren(["keys", "revoke", "no-such-key"])).status).toBe(2);
});

test("a schedule is added, listed, looked at, paused, resumed and removed", async () => {
  const made = await json<ScheduleJson>(
    "schedules",
    "add",
    "echo",
    "hello",
    "--cron",
    "30 2 * * *",
    "--zone",
    "Europe/Berlin",
    "--name",
    "nightly",
  );
  expect(made).toMatchObject({ name: "nightly", agent: "echo", input: "hello", enabled: true, catchUp: "last" });
  expect((await bench.toren(["schedules", "list"])).out).toContain("30 2 * * *");
  const { next } = await json<ScheduleWithTimesJson>("schedules", "next", made.id, "--count", "3");
  expect(next).toHaveLength(3);
  expect((await bench.toren(["schedules", "next", made.id])).out).toContain(" 02:30");
  expect((await json<ScheduleJson>("schedules", "pause", made.id)).nextAt).toBeNull();
  expect((await bench.toren(["schedules", "list"])).out).toContain("paused");
  expect((await json<ScheduleJson>("schedules", "resume", made.id)).nextAt).toBe(made.nextAt);
  expect((await bench.toren(["schedules", "rm", made.id])).status).toBe(0);
  expect((await json<{ schedules: unknown[] }>("schedules", "list")).schedules).toEqual([]);
});

test("what could never fire is refused with what is wrong", async () => {
  const add = (...more: string[]) => bench.toren(["schedules", "add", "echo", "x", ...more]);
  for (const [more, says] of [
    [["--cron", "0 0 30 2 *"], "never fires"],
    [["--cron", "0 0 * * *", "--zone", "Mars/Base"], "no time zone"],
    [["--cron", "hello"], "no cron expression"],
    [["--cron", "0 0 * * *", "--input-json"], "isn't JSON"],
  ] as const) {
    const { status, err } = await add(...more);
    expect([more, status]).toEqual([more, 2]);
    expect(err).toContain(says);
  }
});
