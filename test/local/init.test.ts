// A project as `toren init` makes it runs at once: its test, its types, and a run with the demo model, by this very checkout.
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ROOT } from "../repo/files.ts";
import { type Bench, createBench } from "./harness.ts";

let bench: Bench;
let parent: string;
beforeAll(async () => {
  bench = await createBench();
  parent = await mkdtemp(join(tmpdir(), "toren-init-"));
});
afterAll(async () => {
  await bench.close();
  await rm(parent, { recursive: true, force: true });
});

const run = (folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const { PATH, HOME, TEST_DATABASE_URL } = process.env;
  const given = {
    PATH,
    HOME,
    NO_COLOR: "1",
    ...(TEST_DATABASE_URL === undefined ? {} : { TEST_DATABASE_URL }),
    ...env,
  };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: "utf8",
    env: given,
    timeout: 110_000,
  });
  return { status, stdout, stderr };
};

test("its test passes, its types fit, and it answers", async () => {
  const folder = join(parent, "My Shop");
  const { status, err } = await bench.toren(["init", folder]);
  expect([status, err]).toEqual([0, expect.stringMatching(/cd '.*My Shop'[\s\S]*npx toren run hello/)]);
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  expect(manifest).toMatchObject({ name: "my-shop", dependencies: { toren: expect.stringMatching(/^file:\.\./) } });
  // As npm would link them: this checkout, and the packages that it has.
  await mkdir(join(folder, "node_modules", "@types"), { recursive: true });
  await symlink(ROOT, join(folder, "node_modules", "toren"));
  for (const name of ["zod", "typescript", "aws-cdk-lib", "constructs", "@types/node", "undici-types"])
    await symlink(join(ROOT, "node_modules", name), join(folder, "node_modules", name)).catch(() => {});
  const types = run(folder, [join(ROOT, "node_modules/typescript/bin/tsc")]);
  expect([types.stdout, types.status]).toEqual(["", 0]);
  const tests = run(folder, ["--test"]);
  expect([tests.status, tests.stdout]).toEqual([0, expect.stringMatching(/pass 1/)]);
  const env = { DATABASE_URL: bench.databaseUrl, TOREN_HOME: join(folder, ".toren") };
  const asked = run(folder, [join(ROOT, "local/toren.mjs"), "run", "hello", "What is a log?", "--json"], env);
  expect([asked.status, JSON.parse(asked.stdout)]).toEqual([
    0,
    expect.objectContaining({ status: "completed", simulated: true }),
  ]);
}, 240_000);

test("a folder that has something in it is left alone, and a file isn't one", async () => {
  const folder = join(parent, "full");
  await mkdir(folder);
  await writeFile(join(folder, "notes.txt"), "mine");
  const { status, err } = await bench.toren(["init", folder]);
  expect([status, err]).toEqual([2, expect.stringContaining("isn't empty (notes.txt)")]);
  expect((await bench.toren(["init", join(folder, "notes.txt")])).status).toBe(2);
  expect((await bench.toren(["init"])).status).toBe(2);
  expect(await readFile(join(folder, "notes.txt"), "utf8")).toBe("mine");
  const { value } = await bench.json(["init", join(parent, "json")]);
  expect(value).toEqual({
    folder: join(parent, "json"),
    files: expect.arrayContaining(["package.json", "agents/hello/agent.yaml"]),
  });
});
