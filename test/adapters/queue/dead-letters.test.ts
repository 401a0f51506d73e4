import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createDeadLetters } from "../../../shared/adapters/queue/dead-letters.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

const letter = (messageId: string, body: string) => ({ messageId, queue: "ticks", body, receiveCount: 5 }) as const;

test("they are read newest first, a page at a time, and dropped once", async () => {
  const letters = createDeadLetters(db.database);
  for (const n of [1, 2, 3, 4, 5]) await letters.record([letter(`page ${n}`, JSON.stringify({ n }))]);
  const seen: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await letters.page(cursor, 2);
    seen.push(...page.letters.map((l) => l.messageId));
    if (page.next === null) break;
    cursor = page.next;
  }
  expect(seen).toEqual(["page 5", "page 4", "page 3", "page 2", "page 1"]);
  expect(await letters.get("page 3")).toMatchObject({ body: { n: 3 }, queue: "ticks", receiveCount: 5 });
  for (const cursor of ["x", "bm8", Buffer.from('["2026-01-01",1]').toString("base64url")])
    await expect(letters.page(cursor, 2)).rejects.toMatchObject({ code: "request.invalid" });
  for (const id of seen) expect([await letters.drop(id), await letters.drop(id)]).toEqual([true, false]);
  expect(await letters.get("page 3")).toBeNull();
});

test("dead letters are kept once, whatever their bodies hold (c1, c17)", async () => {
  const letters = createDeadLetters(db.database);
  await letters.record([letter("1", '{"agent":"crew"}'), letter("2", "not { json"), letter("3", '{"x":"\\u0000"}')]);
  await letters.record([letter("1", '{"agent":"other"}'), letter("4", "\u0000\uD83D")]);
  await letters.record([]);
  const { rows } = await db.database.pool.query(
    "SELECT message_id, jsonb_typeof(body) AS type, body->>'agent' AS agent, receive_count FROM toren_control.dead_letters ORDER BY 1",
  );
  expect(rows).toEqual([
    { message_id: "1", type: "object", agent: "crew", receive_count: 5 },
    { message_id: "2", type: "string", agent: null, receive_count: 5 },
    { message_id: "3", type: "object", agent: null, receive_count: 5 },
    { message_id: "4", type: "string", agent: null, receive_count: 5 },
  ]);
});
