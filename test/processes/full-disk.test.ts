// What a command does when what it says can't be written, as on a full disk: /dev/full is one.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const CLI = fileURLToPath(new URL("../../local/cli.ts", import.meta.url));
const run = (redirected: string) =>
  spawnSync("sh", ["-c", `"$0" --no-warnings "$1" --version ${redirected}`, process.execPath, CLI], {
    encoding: "utf8",
  });

test("an output that can't be written is said, and is a failure", () => {
  const { status, stderr } = run("> /dev/full");
  expect(stderr).toMatch(/^error The output can't be written: ENOSPC/);
  expect(status).toBe(1);
});

test("a log that can't be written is no reason to end", () => {
  const log = `import { processTerminal } from ${JSON.stringify(new URL("../../local/terminal/terminal.ts", import.meta.url).href)};
    const { out, err } = processTerminal();
    err.write("logged");
    setTimeout(() => out.write("still here"), 50);`;
  const command = '"$0" --no-warnings --input-type=module -e "$1" 2> /dev/full';
  const { status, stdout } = spawnSync("sh", ["-c", command, process.execPath, log], { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, "still here"]);
});
