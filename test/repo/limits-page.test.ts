import { expect, test } from "@jest/globals";
import * as limits from "../../shared/core/limits.ts";
import { read } from "./files.ts";
import { limitsOf, limitsPage, PAGE } from "./limits-page.ts";

test("docs/reference/limits.md says what shared/core/limits.ts does (node test/repo/limits-page.ts writes it)", () => {
  expect(read(PAGE)).toBe(limitsPage(read("shared/core/limits.ts")));
});

test("I11: every limit is on the page with its reason, and above zero", () => {
  const found = limitsOf(read("shared/core/limits.ts"));
  expect(found.map(({ name }) => name).sort()).toEqual(Object.keys(limits).sort());
  for (const { name, value, why } of found) expect([name, value > 0, why.length > 10]).toEqual([name, true, true]);
});
