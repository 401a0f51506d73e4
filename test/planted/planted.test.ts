// The list of planted bugs fits the tree: each could be planted today, and the test that sees it is there. `npm run planted` tries them all.
import { describe, expect, test } from "@jest/globals";
import { filesBelow, read } from "../repo/files.ts";
import { BUGS } from "./bugs.ts";

const tests = filesBelow("test").filter((file) => !file.path.startsWith("test/planted/"));

test("names are distinct, and there are at least twelve", () => {
  expect(new Set(BUGS.map((bug) => bug.name)).size).toBe(BUGS.length);
  expect(BUGS.length).toBeGreaterThanOrEqual(12);
});

describe.each(BUGS.map((bug) => [bug.name, bug] as const))("%s", (_, { edits, killedBy }) => {
  test("what it changes stands exactly once, and it changes something", () => {
    for (const { file, find, replace } of edits) {
      expect([file, read(file).split(find).length - 1]).toEqual([file, 1]);
      expect(replace).not.toBe(find);
    }
  });
  test("the test that sees it exists", () => {
    expect(tests.map((file) => file.path)).toContain(killedBy.file);
    // Suites that several files share, and scenarios, have their names elsewhere; run.ts refuses a name that no test has.
    const name = killedBy.test.replace(/ undisturbed$/, "");
    expect(tests.some((file) => file.text.includes(name))).toBe(true);
  });
});
