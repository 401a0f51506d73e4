// I11: every bound is a positive number with its unit last in its name.
import { describe, expect, test } from "@jest/globals";
import * as limits from "../../shared/core/limits.ts";

const entries = Object.entries(limits as Record<string, unknown>);
const bound = new Map(entries.map(([name, value]) => [name, value as number]));

describe("limits", () => {
  test.each(entries)("%s is a whole positive number", (_, value) => {
    expect(Number.isSafeInteger(value)).toBe(true);
    expect(value as number).toBeGreaterThan(0);
  });

  test.each([...bound].filter(([name]) => name.endsWith("_MS") && name !== "TIME_MAX_MS"))(
    "%s is a time that timers can hold",
    (_, ms) => {
      expect(ms).toBeLessThan(2 ** 31);
    },
  );

  test.each([
    ["LEASE_MS", 30_000],
    ["PAYLOAD_INLINE_BYTES", 256 * 1024],
    ["PAYLOAD_MAX_BYTES", 16 * 1024 * 1024],
    ["REQUEST_BODY_BYTES", 1024 * 1024],
    ["FILE_MAX_BYTES", 32 * 1024 * 1024],
    ["WAVE_TASKS_MAX", 1_000],
    ["TOOL_TIMEOUT_MS", 300_000],
    ["MAX_STEPS_DEFAULT", 50],
    ["RECEIVES_MAX", 5],
    ["CUT_STORM_CUTS", 3],
    ["CUT_STORM_WINDOW_MS", 300_000],
  ])("%s is what is promised to users", (name, value) => {
    expect(bound.get(name)).toBe(value);
  });

  test("a retry of a step or a tool ends before its worker's patience", () => {
    expect(bound.get("TOOL_BACKOFF_MAX_MS")).toBeLessThanOrEqual(60_000);
    expect(bound.get("MODEL_BACKOFF_MAX_MS")).toBeLessThan(bound.get("MODEL_RETRY_AFTER_MAX_MS") as number);
  });
});
