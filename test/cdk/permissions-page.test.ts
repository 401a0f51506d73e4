import { expect, test } from "@jest/globals";
import { read } from "../repo/files.ts";
import { currentPage, PAGE } from "./permissions-page.ts";

test("the page of permissions says what the roles say: a change of rights is a change of the page", () => {
  expect(read(PAGE)).toBe(currentPage());
});
