// I7's backstop: three cuts of a stream in five minutes by one generation, and no fourth.
import { describe, expect, test } from "@jest/globals";
import { CUT_STORM_CUTS, CUT_STORM_WINDOW_MS } from "../../shared/core/limits.ts";
import { cutsByThisGeneration, stormProblem } from "../../shared/engine/cut-storm.ts";

const NOW = 1_000_000_000;
const cut = (recordedAt: number, generation = 4, type = "StreamInvalidated") => ({
  type,
  generation,
  recordedAt,
  seq: 1,
});
const recent = (count: number) => Array.from({ length: count }, (_, i) => cut(NOW - i * 1_000));

describe("a cut storm", () => {
  test("I7: is three cuts in the window by this generation", () => {
    expect(cutsByThisGeneration(recent(CUT_STORM_CUTS - 1), 4, NOW)).toBeNull();
    expect(cutsByThisGeneration(recent(CUT_STORM_CUTS), 4, NOW)).toBe(CUT_STORM_CUTS);
    expect(cutsByThisGeneration(recent(7), 4, NOW)).toBe(7);
  });

  test("I7: an edit's cuts are its own: other generations, older cuts and other events don't count", () => {
    const two = recent(2);
    for (const other of [
      cut(NOW, 3),
      cut(NOW, 5),
      cut(NOW - CUT_STORM_WINDOW_MS),
      cut(NOW, 4, "CutRequested"),
      { type: "TaskStarted", recordedAt: NOW, seq: 1 },
    ])
      expect(cutsByThisGeneration([...two, other], 4, NOW)).toBeNull();
    expect(cutsByThisGeneration([...two, cut(NOW - CUT_STORM_WINDOW_MS + 1)], 4, NOW)).toBe(3);
  });

  test("I8: is over when the database's clock says so", () => {
    const storm = recent(3);
    expect(cutsByThisGeneration(storm, 4, NOW + CUT_STORM_WINDOW_MS - 2_001)).toBe(3);
    expect(cutsByThisGeneration(storm, 4, NOW + CUT_STORM_WINDOW_MS - 2_000)).toBeNull();
  });

  test("the error names the part that differs", () => {
    const problem = stormProblem("system changed, seen at step s0");
    expect(problem.code).toBe("cut.storm");
    expect(problem.message).toContain("because system changed, seen at step s0");
    expect(problem.message).toContain("3 cuts within 5 minutes");
  });
});
