// What docs/how-to/test-an-agent.md shows is run as it stands.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ROOT, read } from "../../repo/files.ts";

const page = read("docs/how-to/test-an-agent.md");
const examples = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((hit) => hit[1] as string);
const folder = join(ROOT, "dist", "how-to-test");
beforeAll(() => {
  mkdirSync(folder, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("there are four examples", () => {
  expect(examples).toHaveLength(4);
});

test.each(examples.map((code, i) => [i + 1, code] as const))(
  "example %d runs",
  async (i, code) => {
    const path = join(folder, `example${i}.ts`);
    writeFileSync(path, code);
    expect(await run(path)).toEqual({ status: 0, said: expect.any(String) });
  },
  60_000,
);

function run(path: string): Promise<{ status: number | null; said: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [path], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    const hear = (chunk: Buffer): void => {
      said += chunk.toString();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("close", (status) => resolve({ status, said }));
  });
}
