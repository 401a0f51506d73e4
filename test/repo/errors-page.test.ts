import { describe, expect, test } from "@jest/globals";
import { ERRORS, type ErrorCode } from "../../shared/core/errors.ts";
import { filesBelow, read, sections } from "./files.ts";

const codes = Object.keys(ERRORS) as ErrorCode[];
const pages = sections(read("docs/reference/errors.md"), 2);

describe("docs/reference/errors.md", () => {
  test("has a section for every code of the table, in its order, and no other", () => {
    expect([...pages.keys()]).toEqual(codes);
  });

  test.each(codes)("says of %s what it ends and whether it is retryable, as the table does", (code) => {
    const { reach, retryable } = ERRORS[code];
    expect(pages.get(code)).toMatch(new RegExp(`^Ends: ${reach}\\. Retryable: ${retryable ? "yes" : "no"}\\.\n\n\\S`));
  });
});

test("a code that nobody raises says so on its page", () => {
  const source = ["shared", "functions", "local"]
    .flatMap(filesBelow)
    .filter(
      ({ path }) => path.endsWith(".ts") && path !== "shared/core/errors.ts" && path !== "shared/http/problems.ts",
    )
    .map(({ text }) => text)
    .join("\n");
  const silent = codes.filter((code) => !source.includes(`"${code}"`));
  expect(silent).toEqual(codes.filter((code) => pages.get(code)?.includes("\nReserved for ")));
});
