import { access } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Bench, createBench } from "../harness.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await createBench();
});
afterAll(() => bench.close());

const noted = () =>
  access(join(bench.folder, ".toren/server.json")).then(
    () => true,
    () => false,
  );

describe("toren run without a server", () => {
  test("starts one in its own process, with the demo model beside it, says so, and leaves neither behind", async () => {
    const { status, out, err } = await bench.toren(["run", "echo", "What is a lease? A lease is a right that ends."]);
    expect(err).toContain("No provider key is set: the demo model answers");
    expect(err).toMatch(/1 model call · .* simulated/);
    expect({ status, said: out.trim().length > 0 }).toEqual({ status: 0, said: true });
    expect(await noted()).toBe(false);
  });

  test("its run is there for later commands, which only read", async () => {
    const { value } = await bench.json(["jobs", "list"]);
    expect(value).toMatchObject({ runs: [{ agent: "echo", status: "completed" }], next: null });
    expect(await noted()).toBe(false);
    const { status, err } = await bench.toren(["jobs", "resume", "ffffffff"]);
    expect(status).toBe(3);
    expect(err).toContain("toren dev");
  });

  test("a provider key in the environment is announced, and --model demo leaves it unspent", async () => {
    const env = { OPENAI_API_KEY: "sk-nobody" };
    const { status, err } = await bench.toren(["run", "echo", "x", "--model", "demo"], { env });
    expect(status).toBe(0);
    expect(err).toContain("OPENAI_API_KEY in the environment stays unused");
    expect(err).not.toContain("sk-nobody");
  });

  test.each(["gpt", "", "openai/", "/gpt", "openai/a b"])(
    "--model %j is usage, before anything starts",
    async (model) => {
      const { status, out, err } = await bench.toren(["run", "echo", "x", "--model", model]);
      expect({ status, out }).toEqual({ status: 2, out: "" });
      expect(err).toContain("write provider/name");
    },
  );

  test("a state folder that can't be used is said, and is no bug", async () => {
    await bench.write("a-file", "");
    const env = { TOREN_HOME: join(bench.folder, "a-file/state") };
    for (const args of [["run", "echo", "x", "--model", "demo"], ["migrate"], ["jobs", "list"]]) {
      const { status, err } = await bench.toren(args, { env });
      expect([args[0], status, err]).toEqual([args[0], 2, expect.stringContaining("point TOREN_HOME elsewhere")]);
      expect(err).not.toContain("bug");
    }
    const { status, out } = await bench.toren(["doctor"], { env }); // says it, and looks at the rest
    expect([status === 0, out]).toEqual([false, expect.stringMatching(/✘ state folder +.*point TOREN_HOME elsewhere/)]);
    expect(out).toMatch(/✔ agent echo/);
  });

  test("agents that take long to load are said to be loading", async () => {
    const wait = "await new Promise((done) => setTimeout(done, 2_300));\n";
    await bench.write("slow/one/agent.yaml", "name: one\ndescription: d\nmodel: openai/x\nsystem: s\n");
    await bench.write("slow/one/tools.ts", `${wait}export {};\n`);
    const { err } = await bench.toren(["run", "one", "x", "--agents", "slow", "--model", "demo"]);
    expect(err).toContain("Loading agents …");
  });

  test("a broken agent is said with file and line, and nothing runs", async () => {
    await bench.write(
      "agents/broken/agent.yaml",
      "name: broken\ndescription: d\nroles:\n  main: { modle: mock/script }\n",
    );
    const { status, out, err } = await bench.toren(["run", "broken", "x"]);
    expect({ status, out }).toEqual({ status: 2, out: "" });
    expect(err).toMatch(/agent\.invalid.*agent\.yaml:4: .*modle/s);
    expect((await bench.toren(["doctor"])).out).toMatch(/✘ agent broken +.*agent\.yaml:4/);
    expect((await bench.toren(["migrate"])).status).toBe(2);
    await bench.write(
      "agents/broken/agent.yaml",
      "name: broken\ndescription: d\nroles:\n  main: { model: mock/script, system: s }\n",
    );
    expect((await bench.json(["migrate"])).value).toMatchObject({
      agents: expect.arrayContaining([{ name: "broken", generation: 1 }]),
    });
  });

  test("no agents folder at all is said, not crashed on", async () => {
    const { status, err } = await bench.toren(["run", "echo", "x", "--agents", "nowhere"]);
    expect(status).toBe(2);
    expect(err).toContain("nowhere");
  });
});
