// What docs/how-to/run-for-ever.md shows is run as it stands: its agent, its workflow, and its test of them.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { ROOT, read } from "../../repo/files.ts";

const page = read("docs/how-to/run-for-ever.md");
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map((hit) => hit[1] as string);
const folder = join(ROOT, "dist", "how-to-run-for-ever");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the mailbox is looked into each hour, killed or not, until somebody says stop", () => {
  const [[yaml], [workflow, tried], agent] = [blocks("yaml"), blocks("ts"), join(folder, "agents", "inbox")];
  mkdirSync(join(agent, "workflows"), { recursive: true });
  writeFileSync(join(agent, "agent.yaml"), yaml as string);
  writeFileSync(join(agent, "workflows", "main.ts"), workflow as string);
  writeFileSync(join(folder, "try.ts"), tried as string);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "try.ts")], {
    cwd: folder,
    encoding: "utf8",
    timeout: 55_000,
  });
  expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: expect.any(String) });
}, 60_000);
