import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createScriptedModel } from "../../../shared/adapters/model/script.ts";
import { type Bench, createBench } from "../harness.ts";

let bench: Bench;
let refuses = false;
beforeAll(async () => {
  bench = await createBench();
  await bench.serve(createScriptedModel(() => (refuses ? { refusal: true } : "One sentence.")));
});
afterAll(() => bench.close());

const smoke = async (args: readonly string[] = []) =>
  (await bench.json(["smoke", ...args])) as {
    status: number;
    value: { ok: boolean; checks: { what: string; ok: boolean; found: string }[] };
  };

describe("toren smoke", () => {
  test("goes through a server that does what it should, and says a line a check", async () => {
    const { status, out } = await bench.toren(["smoke", "--agent", "crew"]);
    expect(out.split("\n").map((line) => line.slice(2, 12).trim())).toEqual([
      "health",
      "strangers",
      "agents",
      "start",
      "run",
      "log",
      "",
    ]);
    expect(out).toMatch(/run +completed in .*, 3 model calls, /);
    expect(out).toMatch(/log +\d+ events, page by page/);
    expect(status).toBe(0);
  });

  test("a run that fails is told with its reason, and the command fails", async () => {
    refuses = true;
    const { status, value } = await smoke(["--agent", "echo"]);
    refuses = false;
    expect(status).toBe(1);
    expect(value.ok).toBe(false);
    expect(value.checks.filter(({ ok }) => !ok)).toEqual([
      { what: "run", ok: false, found: expect.stringMatching(/failed after .*refus/) },
    ]);
  });

  test("an agent that there isn't ends it there, with those that there are", async () => {
    const { status, value } = await smoke(["--agent", "nobody"]);
    expect(status).toBe(1);
    expect(value.checks.at(-1)).toEqual({
      what: "agents",
      ok: false,
      found: expect.stringContaining("crew (generation 1)"),
    });
  });

  test("a server that isn't there is said at every check", async () => {
    const { status, out } = await bench.toren(["smoke"], {
      env: { TOREN_URL: "http://127.0.0.1:9", TOREN_API_KEY: "toren_x" },
    });
    expect(status).toBe(1);
    expect(out).toMatch(/health +http:\/\/127\.0\.0\.1:9\/healthz doesn't answer/);
    expect(out).not.toMatch(/start|run |log/);
  });
});
