// Pieces of answers over Postgres' notifications: from their beginning, in small statements, and none at all while nobody watches.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createNotices, type Notices } from "../../../shared/adapters/database/notices.ts";
import { piecesOf } from "../../../shared/adapters/live/channels.ts";
import { createLiveIn, createLiveOut } from "../../../shared/adapters/live/postgres.ts";
import { LIVE_BATCH_MS, LIVE_CALL_CHARS, LIVE_PIECE_CHARS } from "../../../shared/core/limits.ts";
import type { Database } from "../../../shared/ports/database.ts";
import type { LiveIn, LiveOut, LivePiece } from "../../../shared/ports/live.ts";
import { until } from "../../engine/support.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { masterKey, sealerWith } from "../../support/sealer.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
let db: TestDatabase;
const statements: string[] = [];
let counted: Database;
const opened: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  db = await testDatabase();
  const { pool } = db.database;
  const query = (text: string, values: unknown[]) => {
    statements.push(text);
    return pool.query(text, values);
  };
  counted = { ...db.database, pool: { query } as unknown as Database["pool"] };
});
beforeEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  statements.length = 0;
});
afterAll(async () => {
  for (const one of opened.splice(0)) await one.close();
  await db.drop();
});

const pause = (ms: number): Promise<void> => new Promise((r) => setTimeout(r, ms));
const notices = (): Notices => {
  const made = createNotices(db.database, silent);
  opened.push(made);
  return made;
};
/** A worker's side. `hears`: it listens for watchers by the time of its first call; else only its leases tell. */
const worker = (hears = true): LiveOut & { listens(): Promise<void> } => {
  const own = notices();
  const made = createLiveOut({ database: counted, ...(hears ? { notices: own } : {}) });
  opened.unshift(made);
  let n = 0;
  const listens = (): Promise<void> => new Promise((resolve) => own.on(`toren_test_${n++}`, () => {}, resolve)); // after all that was asked for before
  return { ...made, listens };
};
const server = (): LiveIn => {
  const made = createLiveIn({ database: db.database, notices: notices() });
  opened.unshift(made);
  return made;
};
const callOf = (out: LiveOut, runId: string, call = 2) =>
  out.call({ agent: "crew", runId, streamId: "task:w0t0" }, { stepId: "s0", call });
const textOf = (pieces: readonly LivePiece[]): string => {
  let text = "";
  for (const piece of pieces) {
    if (piece.type !== "text") continue;
    expect(piece.at).toBeLessThanOrEqual(text.length);
    text = text.slice(0, piece.at) + piece.text;
  }
  return text;
};
const watchers = async (runId: string): Promise<number> =>
  (await db.database.pool.query("SELECT 1 FROM toren_control.run_watchers WHERE run_id = $1", [runId])).rows.length;

test("who asks to hear while the connection is being made is told that it may have missed something once it is heard", async () => {
  const session = async () => {
    const client = await db.database.session();
    const query = client.query.bind(client) as (text: string) => Promise<unknown>;
    const late = async (text: string): Promise<unknown> => {
      if (text.endsWith("toren_second")) await pause(200);
      return await query(text);
    };
    return Object.assign(client, { query: late as never });
  };
  const own = createNotices({ session }, silent);
  opened.push(own);
  own.on("toren_first", () => {});
  const heard: string[] = [];
  own.on(
    "toren_second",
    (payload) => heard.push(payload),
    () => void db.database.pool.query("SELECT pg_notify('toren_second', 'said')"),
  );
  await until(() => heard.length > 0);
  expect(heard).toEqual(["said"]);
});

describe("what is said while somebody watches", () => {
  test("goes out in batches, whatever it holds", async () => {
    const [out, runId] = [worker(), randomUUID()];
    const pieces: LivePiece[] = [];
    const call = callOf(out, runId);
    await out.listens();
    server().watch(runId, (piece) => pieces.push(piece));
    await until(() => out.isWatched(runId));
    const odd = `é 世界 😀 \u0000 \ud83d "\\ \n`;
    for (let i = 0; i < 200; i++) {
      call.show({ type: "text", text: odd });
      if (i % 50 === 0) await pause(LIVE_BATCH_MS);
    }
    await until(() => textOf(pieces).length === odd.length * 200);
    expect(textOf(pieces)).toBe(odd.repeat(200));
    expect(statements.length).toBeLessThan(15);
    expect(pieces.every(({ stream, stepId, call: seq }) => `${stream} ${stepId} ${seq}` === "task:w0t0 s0 2")).toBe(
      true,
    );
  });

  test("is sealed where runs are: whoever listens without the key hears nothing of it", async () => {
    const runId = randomUUID();
    const sealed = { ...db.database, sealer: sealerWith(masterKey("mine")) };
    const payloads: string[] = [];
    const ears = notices();
    const out = createLiveOut({ database: sealed });
    const [reader, stranger] = [sealed, db.database].map((database) => createLiveIn({ database, notices: ears }));
    opened.unshift(out, ...[reader, stranger].filter((one) => one !== undefined));
    const [pieces, strange]: LivePiece[][] = [[], []];
    ears.on(
      piecesOf(runId),
      (payload) => payloads.push(payload),
      () => {},
    );
    reader?.watch(runId, (piece) => pieces?.push(piece));
    stranger?.watch(runId, (piece) => strange?.push(piece));
    out.heed(runId);
    const call = callOf(out, runId);
    const odd = `canary \u0000 \ud83d "\\ 😀`;
    for (let i = 0; i < 300; i++) call.show({ type: "text", text: odd });
    await until(() => textOf(pieces ?? []).length === odd.length * 300);
    expect(textOf(pieces ?? [])).toBe(odd.repeat(300));
    expect(payloads.length).toBeGreaterThan(2);
    expect(payloads.join()).not.toMatch(/canary/);
    expect(strange).toEqual([]);
  });

  test("reaches who comes in the middle from its beginning, at once where the worker listens", async () => {
    const [out, runId] = [worker(), randomUUID()];
    const call = callOf(out, runId);
    call.show({ type: "reasoning", text: "Hm. " });
    call.show({ type: "text", text: "So far, " });
    await out.listens();
    const [first, second]: LivePiece[][] = [[], []];
    const reader = server();
    reader.watch(runId, (piece) => first?.push(piece));
    await until(() => textOf(first ?? []) === "So far, ");
    expect(first?.some(({ type, text }) => type === "reasoning" && text === "Hm. ")).toBe(true);
    server().watch(runId, (piece) => second?.push(piece)); // another server's reader
    await until(() => textOf(second ?? []) === "So far, ");
    call.show({ type: "text", text: "so good." });
    for (const pieces of [first, second]) await until(() => textOf(pieces ?? []) === "So far, so good.");
  });

  test("where it doesn't listen, a lease tells it", async () => {
    const [out, runId] = [worker(false), randomUUID()];
    const pieces: LivePiece[] = [];
    server().watch(runId, (piece) => pieces.push(piece));
    await until(async () => (await watchers(runId)) === 1);
    const call = callOf(out, runId);
    call.show({ type: "text", text: "Hello." });
    await pause(2 * LIVE_BATCH_MS);
    expect(pieces).toEqual([]);
    out.heed(runId); // as `acquire` and `renew` say
    await until(() => textOf(pieces) === "Hello.");
  });

  test("what was void is said to be; the next attempt begins anew", async () => {
    const [out, runId] = [worker(), randomUUID()];
    const pieces: LivePiece[] = [];
    const call = callOf(out, runId);
    await out.listens();
    server().watch(runId, (piece) => pieces.push(piece));
    await until(() => out.isWatched(runId));
    call.show({ type: "text", text: "Wro" });
    await until(() => pieces.length === 1);
    call.show({ type: "restart" });
    call.show({ type: "text", text: "Right" });
    await until(() => pieces.length === 3);
    expect(pieces.map(({ attempt, type, at, text }) => [attempt, type, at, text])).toEqual([
      [0, "text", 0, "Wro"],
      [1, "restart", 0, ""],
      [1, "text", 0, "Right"],
    ]);
  });

  test("a giant answer is shown up to a bound, in pieces that fit", async () => {
    const [out, runId] = [worker(), randomUUID()];
    const pieces: LivePiece[] = [];
    const call = callOf(out, runId);
    await out.listens();
    server().watch(runId, (piece) => pieces.push(piece));
    await until(() => out.isWatched(runId));
    call.show({ type: "text", text: "\u0001".repeat(20_000_000) }); // six bytes each in JSON
    await until(() => textOf(pieces).length >= LIVE_CALL_CHARS);
    await pause(2 * LIVE_BATCH_MS);
    expect(textOf(pieces)).toHaveLength(LIVE_CALL_CHARS);
    expect(Math.max(...pieces.map(({ text }) => text.length))).toBe(LIVE_PIECE_CHARS);
    expect(statements.length).toBeLessThan(10);
  });

  test("a call that is over says no more, and leaves no timer", async () => {
    const [out, runId] = [worker(), randomUUID()];
    const pieces: LivePiece[] = [];
    const call = callOf(out, runId);
    await out.listens();
    server().watch(runId, (piece) => pieces.push(piece));
    await until(() => out.isWatched(runId));
    call.show({ type: "text", text: "Hello." });
    call.end();
    await pause(2 * LIVE_BATCH_MS);
    expect(statements).toEqual([]);
    expect(pieces).toEqual([]);
  });
});

test("that a log has grown is said to who watches: many appends at once are said once, and before a process may freeze", async () => {
  const [out, runId] = [worker(), randomUUID()];
  let grew = 0;
  server().watch(
    runId,
    () => {},
    () => void grew++,
  );
  await until(async () => (await watchers(runId)) === 1);
  out.heed(runId);
  for (let n = 0; n < 100; n++) out.grew(runId);
  await out.rest();
  expect(statements).toHaveLength(1);
  await until(() => grew > 0);
  expect(grew).toBe(1);
});

describe("while nobody watches", () => {
  test("a log that grows makes no statement", async () => {
    const out = worker();
    for (let n = 0; n < 100; n++) out.grew(randomUUID());
    await out.rest();
    expect(statements).toEqual([]);
  });

  test("ten thousand deltas make no statement, and no connection is kept by readers who left", async () => {
    const [out, runId] = [worker(), randomUUID()];
    const reader = server();
    const leave = reader.watch(runId, () => {});
    await until(async () => (await watchers(runId)) === 1);
    leave();
    await until(async () => (await watchers(runId)) === 0);
    const call = callOf(out, randomUUID());
    for (let i = 0; i < 10_000; i++) call.show({ type: "text", text: "word " });
    await pause(2 * LIVE_BATCH_MS);
    call.end();
    expect(statements).toEqual([]);
  });

  test("who went away without a word is forgotten, and swept up by the next", async () => {
    const [gone, here] = [randomUUID(), randomUUID()];
    await db.database.pool.query(
      "INSERT INTO toren_control.run_watchers VALUES ($1, $2, clock_timestamp() - interval '1 s')",
      [gone, randomUUID()],
    );
    server().watch(here, () => {});
    await until(async () => (await watchers(here)) === 1 && (await watchers(gone)) === 0);
  });
});

test("a listening connection that dies is made anew, and who watches is told again", async () => {
  const [out, runId] = [worker(), randomUUID()];
  const pieces: LivePiece[] = [];
  const call = callOf(out, runId);
  await out.listens();
  server().watch(runId, (piece) => pieces.push(piece));
  await until(() => out.isWatched(runId));
  await db.database.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'toren listener' AND datname = current_database()",
  );
  await pause(50);
  call.show({ type: "text", text: "Still here." });
  await until(() => textOf(pieces) === "Still here.");
});
