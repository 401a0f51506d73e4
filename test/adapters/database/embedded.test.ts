import { type ChildProcess, spawn } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { type EmbeddedDatabase, openEmbedded } from "../../../shared/adapters/database/embedded.ts";
import { chooseAccount } from "../../../shared/adapters/database/embedded-account.ts";
import { servesDirectory } from "../../../shared/adapters/database/embedded-server.ts";
import { databaseConformance } from "../../conformance/database.ts";

const folders: string[] = [];
const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp("/tmp/toren-embedded-");
  await chmod(folder, 0o755);
  folders.push(folder);
  return folder;
};
afterAll(async () => {
  for (const folder of folders.reverse()) {
    const data = await realpath(join(folder, "postgres")).catch(() => null);
    if (data !== null) await rm(data, { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  }
});

interface User {
  readonly process: ChildProcess;
  readonly url: string;
  readonly port: number;
  readonly server: number;
  readonly joined: boolean;
  readonly tables: number;
}
const users: ChildProcess[] = [];
async function use(folder: string): Promise<User> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "embedded-user.ts"), folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  users.push(child);
  for await (const line of createInterface({ input: child.stdout })) return { process: child, ...JSON.parse(line) };
  throw new Error("the user of the database ended without a word");
}
const leave = (user: User): Promise<void> =>
  new Promise((resolve) => {
    user.process.once("exit", () => resolve());
    user.process.stdin?.end();
  });
const kill9 = (user: User): Promise<void> =>
  new Promise((resolve) => {
    user.process.once("exit", () => resolve());
    user.process.kill("SIGKILL");
  });
afterEach(() => {
  for (const child of users.splice(0)) child.stdin?.end();
});
const data = (folder: string) => realpath(join(folder, "postgres"));
const ended = async (server: number, folder: string): Promise<boolean> => {
  for (let tries = 0; tries < 200 && servesDirectory(server, await data(folder)); tries++) await sleep(25);
  return !servesDirectory(server, await data(folder));
};

describe("the embedded database as a database", () => {
  let database: EmbeddedDatabase;
  beforeAll(async () => {
    database = await openEmbedded(await newFolder(), { appends: 2, pool: 2 });
  });
  afterAll(() => database.close());
  databaseConformance("an embedded database", () => database);

  test("is durable unless told otherwise, UTF8, and asks for its password", async () => {
    const { rows } = await database.pool.query(
      "SELECT current_setting('fsync') AS fsync, current_setting('server_encoding') AS encoding, current_setting('listen_addresses') AS on",
    );
    expect(rows).toEqual([{ fsync: "on", encoding: "UTF8", on: "127.0.0.1" }]);
    const stranger = new pg.Client({
      host: "127.0.0.1",
      port: database.port,
      user: "toren",
      password: "guess",
      database: "postgres",
    });
    await expect(stranger.connect()).rejects.toMatchObject({ code: "28P01" });
  });
});

test("two users of two folders have two servers", async () => {
  const [a, b] = await Promise.all([use(await newFolder()), use(await newFolder())]);
  expect(a.server).not.toBe(b.server);
  expect(a.port).not.toBe(b.port);
  await Promise.all([leave(a), leave(b)]);
});

test("three users of one new folder at once share one server, which ends with the last of them", async () => {
  const folder = await newFolder();
  const all = await Promise.all([use(folder), use(folder), use(folder)]);
  expect(new Set(all.map((u) => u.server)).size).toBe(1);
  expect(all.filter((u) => !u.joined)).toHaveLength(1);
  const [first, second, third] = all;
  await leave(first);
  await leave(second);
  expect(servesDirectory(third.server, await data(folder))).toBe(true);
  await leave(third);
  expect(servesDirectory(third.server, await data(folder))).toBe(false);
});

test("a user that is killed leaves its server to the next, who ends it", async () => {
  const folder = await newFolder();
  const killed = await use(folder);
  await kill9(killed);
  const next = await use(folder);
  expect(next).toMatchObject({ server: killed.server, joined: true });
  await leave(next);
  expect(servesDirectory(next.server, await data(folder))).toBe(false);
});

test("after a kill -9 of everything it starts again with what was committed", async () => {
  const folder = await newFolder();
  const killed = await use(folder);
  await query(killed.url, "CREATE TABLE kept (n int)");
  await kill9(killed);
  process.kill(killed.server, "SIGKILL");
  const next = await use(folder);
  expect(next).toMatchObject({ tables: 1, joined: false, port: killed.port });
  await leave(next);
});

test("a pid file that names a living stranger stops nobody", async () => {
  const folder = await newFolder();
  const first = await use(folder);
  await kill9(first);
  process.kill(first.server, "SIGKILL");
  expect(await ended(first.server, folder)).toBe(true);
  const pidFile = join(folder, "postgres", "postmaster.pid");
  const lines = (await readFile(pidFile, "utf8")).split("\n");
  const stranger = spawn(
    "sleep",
    ["60"],
    process.getuid?.() === 0 ? { uid: (await lstat(await data(folder))).uid } : {},
  );
  await writeFile(pidFile, [stranger.pid, ...lines.slice(1)].join("\n"));
  const next = await use(folder);
  expect(next.joined).toBe(false);
  expect(stranger.exitCode).toBeNull();
  await leave(next);
  stranger.kill();
});

test("a server that is killed under its users comes back at the same address", async () => {
  const folder = await newFolder();
  const [a, b] = [await use(folder), await use(folder)];
  process.kill(a.server, "SIGKILL");
  expect(await ended(a.server, folder)).toBe(true);
  let answer: unknown = null;
  for (let tries = 0; tries < 200 && answer === null; tries++) {
    answer = await query(a.url, "SELECT 1").catch(() => null);
    await sleep(25);
  }
  expect(answer).not.toBeNull();
  await leave(a);
  await leave(b);
});

const asRoot = process.getuid?.() === 0 ? test : test.skip;
asRoot("root's folders are closed to the server's account: the data lies elsewhere, behind a link", async () => {
  const folder = await newFolder();
  await chmod(folder, 0o700);
  const closed = join(folder, "state");
  folders.push(closed);
  await mkdir(closed);
  const user = await use(closed);
  expect((await lstat(join(closed, "postgres"))).isSymbolicLink()).toBe(true);
  expect((await lstat(await data(closed))).uid).not.toBe(0);
  await leave(user);
  const again = await use(closed);
  expect(again.joined).toBe(false);
  await leave(again);
});

describe("the account that root starts the server as", () => {
  test.each([
    [
      "postgres, where the machine has it",
      "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/\npostgres:x:101:104::/:/\n",
      { uid: 101, gid: 104 },
    ],
    ["nobody, elsewhere", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/:/\n", { uid: 65534, gid: 65533 }],
  ])("is %s", (_, passwd, account) => expect(chooseAccount(passwd)).toEqual(account));
  test("is asked for where there is none", () =>
    expect(() => chooseAccount("root:x:0:0::/root:/bin/sh\n")).toThrow(/Add one, or set DATABASE_URL/));
});

async function query(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  try {
    await client.connect();
    return await client.query(sql);
  } finally {
    await client.end().catch(() => {});
  }
}
