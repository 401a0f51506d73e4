// What every twin of the database port keeps.
import { describe, expect, test } from "@jest/globals";
import type { Pool } from "pg";
import type { Database } from "../../shared/ports/database.ts";

const setting = async (pool: Pool, name: string): Promise<string> =>
  (await pool.query(`SELECT current_setting($1) AS value`, [name])).rows[0].value;
const backend = async (pool: Pool): Promise<number> => (await pool.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;

export function databaseConformance(what: string, get: () => Database): void {
  describe(what, () => {
    test.each([
      ["jit", "off"],
      ["enable_seqscan", "off"],
      ["enable_hashjoin", "off"],
      ["enable_mergejoin", "off"],
      ["lock_timeout", "2s"],
      ["statement_timeout", "10s"],
      ["idle_in_transaction_session_timeout", "10s"],
    ])("sets %s to %s for appends", async (name, value) => {
      expect(await setting(get().appends, name)).toBe(value);
    });

    test("leaves the planner alone elsewhere", async () => {
      expect(await setting(get().pool, "enable_seqscan")).toBe("on");
    });

    test("keeps a connection whose statement failed", async () => {
      const { appends } = get();
      const before = await backend(appends);
      await expect(appends.query("SELECT 1/0")).rejects.toMatchObject({ code: "22012" });
      expect(await backend(appends)).toBe(before);
    });

    test("gives up a connection that an administrator ended, in use or idle, and goes on with another", async () => {
      const { appends, pool } = get();
      const idle = await backend(appends);
      await pool.query("SELECT pg_terminate_backend($1)", [idle]);
      await new Promise((resolve) => setTimeout(resolve, 50)); // a connection that ends while it is handed out fails that one query
      const busy = appends.query("SELECT pg_backend_pid() AS pid, pg_sleep(5)").catch((e) => e);
      await terminateSleeper(pool);
      expect(["57P01", undefined]).toContain((await busy).code);
      expect(await backend(appends)).not.toBe(idle);
    });

    test("speaks by the address it names", async () => {
      expect(get().url).toMatch(/^postgres(ql)?:\/\//);
    });
  });
}

async function terminateSleeper(pool: Pool): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { rowCount } = await pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(5)%' AND state = 'active' AND pid <> pg_backend_pid()",
    );
    if ((rowCount ?? 0) > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("nobody slept");
}
