import { describe, expect, test } from "@jest/globals";
import { href, parseRoute } from "../../../console/model/route.ts";

describe("the address", () => {
  test.each([
    ["", { page: "overview", id: null, query: {} }],
    ["#/", { page: "overview", id: null, query: {} }],
    ["#/runs?status=failed&agent=a%26b", { page: "runs", id: null, query: { status: "failed", agent: "a&b" } }],
    ["#/runs/01/x?y", { page: "runs", id: "01", query: { y: "" } }],
    ["#/%E0%A4%A", { page: "%E0%A4%A", id: null, query: {} }],
    ["#/__proto__/constructor", { page: "__proto__", id: "constructor", query: {} }],
  ])("%j", (hash, route) => {
    expect(parseRoute(hash)).toEqual(route);
  });

  test("is read as it was written, and without what is empty", () => {
    const to = href("runs", "a/b?c#d", { text: "x & y = z", none: null, empty: "" });
    expect(to).not.toContain("none");
    expect(parseRoute(to)).toEqual({ page: "runs", id: "a/b?c#d", query: { text: "x & y = z" } });
    expect(href("overview")).toBe("#/");
  });
});
