import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { calculate } from "../../agents/assistant/arithmetic.ts";

describe("calculate", () => {
  test.each([
    ["12 * (3 + 4)", 84],
    ["2 ^ 3 ^ 2", 512],
    ["-2 ^ 2", -4],
    ["7 - 4 - 1", 2],
    ["10 % 4 * 2", 4],
    ["0.1 + 0.2", 0.3],
    ["--3", 3],
  ])("%s = %d", (text, value) => {
    expect(calculate(text)).toBe(value);
  });

  test.each(["", "2 +", "(1", "1 / 0", "2 3", "process.exit()", "1..2"])("%j is refused with a reason", (text) => {
    expect(() => calculate(text)).toThrow(/./);
  });

  test("agrees with JavaScript on sums and products of any shape", () => {
    interface Part {
      readonly text: string;
      readonly value: number;
    }
    const joined = (a: Part, op: "+" | "-" | "*", b: Part): Part => ({
      text: `(${a.text} ${op} ${b.text})`,
      value: op === "+" ? a.value + b.value : op === "-" ? a.value - b.value : a.value * b.value,
    });
    const { part } = fc.letrec<{ part: Part }>((tie) => ({
      part: fc.oneof(
        { maxDepth: 4 },
        fc.integer({ min: 0, max: 99 }).map((value) => ({ text: String(value), value })),
        fc.tuple(tie("part"), fc.constantFrom("+", "-", "*"), tie("part")).map((args) => joined(...args)),
      ),
    }));
    fc.assert(
      fc.property(part, ({ text, value }) => {
        expect(calculate(text) + 0).toBe(Number(value.toPrecision(15)) + 0); // -0 is 0
      }),
    );
  });
});
