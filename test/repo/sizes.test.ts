import { expect, test } from "@jest/globals";
import { filesBelow } from "./files.ts";

const LINES_MAX = 300;
const CODE = /\.(tsx?|mjs|js|css|sql|sh)$/;
/** "Over 300 lines: because …", or the reason in the file's own words with its length named. */
const REASON = /(over 300 lines|hence its length|long because)/i;

test("a file of more than 300 lines says on its first line why it is one file", () => {
  const silent = ["shared", "functions", "local", "cdk", "console", "agents", "test", "bench"]
    .flatMap(filesBelow)
    .filter(({ path }) => CODE.test(path))
    .filter(({ text }) => text.split("\n").length - 1 > LINES_MAX)
    .filter(({ text }) => !REASON.test(text.slice(0, text.indexOf("\n"))));
  expect(silent.map(({ path }) => path)).toEqual([]);
});
