// "Did you mean": one near name, or all of them.
import { describe, expect, test } from "@jest/globals";
import { closest } from "../../shared/core/closest.ts";

const known = ["researcher", "planner", "writer"];

describe("closest", () => {
  test.each([
    ["reseacher", known, 'Did you mean "researcher"?'],
    ["PLANNER", known, 'Did you mean "planner"?'],
    ["writr", known, 'Did you mean "writer"?'],
    ["wirter", known, 'Did you mean "writer"?'],
    ["x", ["y"], 'Did you mean "y"?'],
    ["translator", known, "Known: planner, researcher, writer."],
    ["", known, "Known: planner, researcher, writer."],
    ["anything", [], "There are none."],
  ])("to %j of %j: %s", (wrong, names, sentence) => {
    expect(closest(wrong, names)).toBe(sentence);
  });

  test("leaves the given list as it is", () => {
    const names = Object.freeze(["b", "a"]);
    expect(closest("zzzz", names)).toBe("Known: a, b.");
  });
});
