import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { openEmbedded } from "../../../shared/adapters/database/embedded.ts";
import { createScriptedModel } from "../../../shared/adapters/model/script.ts";
import { testDatabase } from "../../support/database.ts";
import { type Bench, createBench } from "../harness.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await createBench();
  await bench.serve(createScriptedModel(() => "done"));
});
afterAll(() => bench.close());

describe("toren doctor", () => {
  test("says how to read with SQL: the command that it gives connects to the embedded database", async () => {
    const state = join(bench.folder, "its own");
    const held = await openEmbedded(state);
    try {
      const { value } = await bench.json(["doctor"], { DATABASE_URL: "", TOREN_HOME: state });
      const { psql } = value as { psql: string };
      // The shell is given a psql of ours, which says what it was called with.
      const said = execFileSync("sh", ["-c", `psql() { echo "$PGPASSWORD $*"; }; ${psql}`], { encoding: "utf8" });
      const [, password = "", port] = /^(\S+) -h 127\.0\.0\.1 -p (\d+) -U toren postgres\n$/.exec(said) ?? [];
      expect(password).toHaveLength(32);
      expect(psql).not.toContain(password);
      const client = new pg.Client(`postgres://toren:${password}@127.0.0.1:${port}/postgres`);
      await client.connect();
      expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      await client.end();
    } finally {
      await held.close();
    }
  }, 60_000);

  test("on a fresh machine nothing is wrong: no schema yet, no key yet", async () => {
    await bench.write("fresh/one/agent.yaml", "name: one\ndescription: d\nmodel: openai/gpt-5-mini\nsystem: s\n");
    await bench.write("later/two/agent.yaml", "name: two\ndescription: d\nmodel: anthropic/claude\nsystem: s\n");
    const empty = await testDatabase();
    try {
      await empty.database.pool.query("DROP SCHEMA toren_control CASCADE");
      const env = { DATABASE_URL: empty.url, TOREN_HOME: join(bench.folder, "fresh state") };
      const { out } = await bench.toren(["doctor", "--agents", "fresh"], { env });
      expect(out).toMatch(/○ schema +toren_control is not set up yet: the first `toren run`/);
      expect(out).toMatch(/○ models of one +role main: No key for openai\/: set OPENAI_API_KEY/);
      const later = await bench.toren(["doctor", "--agents", "later"], { env: { ...env, OPENAI_API_KEY: "k" } });
      expect(later.out).toMatch(/○ models of two +role main: No key for anthropic\/: set ANTHROPIC_API_KEY/);
    } finally {
      await empty.drop();
    }
  });

  test("with a connection string of the user's own, that is how", async () => {
    expect((await bench.json(["doctor"])).value).toMatchObject({ psql: 'psql "$DATABASE_URL"' });
  });

  test("finds everything well, and never says what a key is", async () => {
    const { status, out } = await bench.toren(["doctor"], {
      env: { OPENAI_API_KEY: "sk-secret", ANTHROPIC_API_KEY: "sk-secret" },
    });
    expect(out).not.toContain("sk-secret");
    expect(out).toMatch(/✔ provider keys +ANTHROPIC_API_KEY, OPENAI_API_KEY set/);
    expect(out).toMatch(/✔ agent crew/);
    expect(out).toMatch(/✘ models of crew +roles worker, writer: .*mock\//);
    expect(out).toMatch(/✔ server +answers at http/);
    // The test server trades safety for speed, and is told so.
    expect(out).toMatch(/[✔✘] fsync/);
    expect([1, 3]).toContain(status); // the mock/ models exist here only
  });
});
