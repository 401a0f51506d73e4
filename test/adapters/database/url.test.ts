import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { checkDatabase, judge } from "../../../shared/adapters/database/checks.ts";
import { withoutSecrets } from "../../../shared/adapters/database/connect.ts";
import { freePort } from "../../../shared/adapters/database/embedded-server.ts";
import { openUrl } from "../../../shared/adapters/database/url.ts";
import { databaseConformance } from "../../conformance/database.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase({ appends: 2, pool: 2 });
});
afterAll(() => db.drop());

databaseConformance("a database by its URL", () => db.database);

describe("a database that is away", () => {
  test("is waited for, with one word of progress, and opened when it comes", async () => {
    const target = new URL(db.url);
    const port = await freePort(null);
    const away = new URL(db.url);
    away.port = String(port);
    const said: string[] = [];
    const opening = openUrl(away.href, { patienceMs: 10_000, onProgress: (text) => said.push(text) });
    await new Promise((resolve) => setTimeout(resolve, 600));
    const { connect } = await import("node:net");
    const proxy = createServer((socket) => {
      const upstream = connect(Number(target.port), target.hostname);
      socket.pipe(upstream).pipe(socket);
      for (const s of [socket, upstream]) s.on("error", () => {});
    });
    await new Promise<void>((resolve) => proxy.listen(port, "127.0.0.1", resolve));
    const opened = await opening;
    expect((await opened.pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await opened.close();
    proxy.close();
    expect(said).toEqual([`Waiting for the database at 127.0.0.1:${port}${away.pathname} (ECONNREFUSED) …`]);
  });

  test("is an error that says what to do when it stays away", async () => {
    const port = await freePort(null);
    const failure = openUrl(`postgres://toren:secret@127.0.0.1:${port}/x`, { patienceMs: 300 });
    await expect(failure).rejects.toMatchObject({
      code: "database.unavailable",
      message: expect.stringMatching(/ECONNREFUSED.*Start it, correct DATABASE_URL/),
    });
    await expect(failure).rejects.not.toMatchObject({ message: expect.stringContaining("secret") });
  });

  test.each([
    ["a name that isn't there", (url: URL) => (url.pathname = "/no_such_database"), /no such database/],
    ["a protocol that isn't Postgres", (url: URL) => (url.href = "mysql://x/y"), /isn't a Postgres URL/],
  ])("%s fails at once", async (_, change, message) => {
    const url = new URL(db.url);
    change(url);
    const started = performance.now();
    await expect(openUrl(url.href, { patienceMs: 20_000 })).rejects.toMatchObject({
      code: "database.unavailable",
      message: expect.stringMatching(message),
    });
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("the checks of a database", () => {
  const good = { version: 150018, encoding: "UTF8", fsync: "on", synchronous_commit: "on", full_page_writes: "on" };
  test("find nothing wrong with a durable, recent, UTF8 server", () =>
    expect(judge(good).filter((c) => !c.ok)).toEqual([]));
  test.each([
    [{ version: 140011 }, "version", true],
    [{ encoding: "SQL_ASCII" }, "encoding", true],
    [{ fsync: "off" }, "fsync", false],
    [{ synchronous_commit: "off" }, "synchronous_commit", false],
    [{ full_page_writes: "off" }, "full_page_writes", false],
  ])("name what is wrong: %j", (change, what, fatal) => {
    const bad = judge({ ...good, ...change }).filter((c) => !c.ok);
    expect(bad).toMatchObject([{ what, fatal }]);
    expect(bad[0]?.advice).not.toBe("");
  });
  test("ask a real server", async () => {
    expect((await checkDatabase(db.database.pool)).map((c) => c.what)).toEqual([
      "version",
      "encoding",
      "fsync",
      "synchronous_commit",
      "full_page_writes",
    ]);
  });
});

test("a connection string is shown without its password", () => {
  expect(withoutSecrets("postgres://me:hush@h:5432/d?sslmode=require")).toBe(
    "postgres://me:***@h:5432/d?sslmode=require",
  );
  expect(withoutSecrets("postgres://h/d?password=hush")).not.toContain("hush");
});
