import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAudit } from "../../../shared/adapters/store/audit.ts";
import { createKeys } from "../../../shared/adapters/store/keys.ts";
import { migrate } from "../../../shared/adapters/store/migrate.ts";
import { createStore } from "../../../shared/adapters/store/postgres.ts";
import { KEY_KEEP_MS } from "../../../shared/core/limits.ts";
import { newKey } from "../../../shared/http/auth.ts";
import type { Keys } from "../../../shared/ports/keys.ts";
import { createBench, uuid } from "../../conformance/store/bench.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let database: TestDatabase;
let keys: Keys;
let now = 0;
beforeAll(async () => {
  database = await testDatabase();
  await migrate(database.database, ["suite"]);
  keys = createKeys(database.database, () => now);
});
afterAll(() => database.drop());

const sql = async (text: string, values: unknown[] = []) => (await database.database.pool.query(text, values)).rows;
const made = { name: "ci", scopes: ["read", "run"] as const, agents: ["echo"], expiresAt: null, createdBy: "boss" };
const create = async (more: Partial<Parameters<Keys["create"]>[1]> = {}) => {
  const key = newKey();
  const info = await keys.create(key, { ...made, ...more });
  if (info === null) throw new Error("refused");
  return { key, info };
};
const later = (): void => {
  now += KEY_KEEP_MS + 1;
};

describe("API keys", () => {
  test("only a hash is stored, and how a key begins", async () => {
    const { key, info } = await create();
    const rows = JSON.stringify(await sql("SELECT * FROM toren_control.api_keys"));
    expect(rows).not.toContain(key.slice(12));
    expect(info).toMatchObject({ begins: key.slice(0, 10), name: "ci", agents: ["echo"], createdBy: "boss" });
    const { info: _, ...caller } = { info, keyId: info.id, name: "ci", scopes: ["read", "run"], agents: ["echo"] };
    expect(await keys.admit(key)).toEqual({ type: "admitted", caller });
    expect(await keys.admit(newKey())).toEqual({ type: "unknown" });
  });

  test("the deployer's first key may do everything, also one that was kept before there were scopes; kept twice it is one", async () => {
    const key = newKey();
    await keys.keep(key, "first key");
    await keys.keep(key, "another name");
    expect(await keys.admit(key)).toMatchObject({ caller: { name: "first key", scopes: ["admin"], agents: null } });
    expect((await keys.list()).filter((info) => info.createdBy === null)).toMatchObject([{ name: "first key" }]);
  });

  test("a revoked one is refused at once here, elsewhere within KEY_KEEP_MS; revoked again it stays as it is", async () => {
    const { key, info } = await create();
    const elsewhere = createKeys(database.database, () => now);
    expect((await elsewhere.admit(key)).type).toBe("admitted");
    expect((await keys.admit(key)).type).toBe("admitted");
    const revoked = await keys.revoke(info.id);
    expect(revoked?.revokedAt).toEqual(expect.any(Number));
    expect((await keys.admit(key)).type).toBe("revoked");
    expect((await elsewhere.admit(key)).type).toBe("admitted");
    later();
    expect((await elsewhere.admit(key)).type).toBe("revoked");
    expect(await keys.revoke(info.id)).toEqual(revoked);
    expect(await keys.revoke(uuid())).toBeNull();
  });

  test("one expires by the database's clock, and isn't made when it would have", async () => {
    const [clock] = await sql("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms");
    const { key } = await create({ expiresAt: Number(clock.ms) + 60_000 });
    expect((await keys.admit(key)).type).toBe("admitted");
    await sql("UPDATE toren_control.api_keys SET expires_at = clock_timestamp() WHERE expires_at IS NOT NULL");
    later();
    expect((await keys.admit(key)).type).toBe("expired");
    expect(await keys.create(newKey(), { ...made, expiresAt: Number(clock.ms) - 1 })).toBeNull();
  });

  test("that one is used is noted once a minute, not with each request", async () => {
    const { key, info } = await create();
    const version = async () =>
      (await sql("SELECT xmin, last_used_at FROM toren_control.api_keys WHERE key_id = $1", [info.id]))[0];
    for (let i = 0; i < 5; i++) {
      await keys.admit(key);
      later();
    }
    const first = await version();
    expect(first.last_used_at).not.toBeNull();
    await keys.admit(key);
    expect(await version()).toEqual(first);
    await sql("UPDATE toren_control.api_keys SET last_used_at = last_used_at - interval '2 minutes'");
    later();
    await keys.admit(key);
    expect((await version()).last_used_at > first.last_used_at).toBe(true);
  });
});

describe("the audit", () => {
  test("a start is noted with its run, in one statement; a repeated one isn't", async () => {
    const audit = createAudit(database.database);
    const store = createStore(database.database);
    const b = createBench({ store, other: store, agent: "suite", passTime: async () => {}, close: async () => {} });
    const startedBy = { by: "boss", keyId: uuid() };
    const runId = await b.run({ idempotencyKey: "once", startedBy });
    const rest = { agent: "suite", process: "main", input: null, generation: 1, codeHash: "h", files: [] };
    await b.store.runs.create({ ...rest, runId: uuid(), idempotencyKey: "once", startedBy });
    await b.run();
    await audit.note({ ...startedBy, action: "run.cancelled", agent: "suite", runId, subject: null });
    const rows = await audit.page({ limit: 10 });
    expect(rows.map((row) => [row.action, row.by, row.keyId, row.runId])).toEqual([
      ["run.cancelled", "boss", startedBy.keyId, runId],
      ["run.started", "boss", startedBy.keyId, runId],
    ]);
    expect(await audit.page({ runId, before: rows[0]?.id ?? 0, limit: 10 })).toEqual([rows[1]]);
    expect(await audit.page({ runId: uuid(), limit: 10 })).toEqual([]);
  });
});
