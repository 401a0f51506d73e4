import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { calculate } from "./arithmetic.ts";

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
    const part = fc.letrec<{ part: string }>((tie) => ({
      part: fc.oneof(
        { maxDepth: 4 },
        fc.integer({ min: 0, max: 99 }).map(String),
        fc.tuple(tie("part"), fc.constantFrom("+", "-", "*"), tie("part")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      ),
    })).part;
    fc.assert(
      fc.property(part, (text) => {
        // oxlint-disable-next-line typescript/no-implied-eval -- JavaScript itself is what the answers are held against
        const expected = Number((new Function(`return ${text}`)() as number).toPrecision(15));
        expect(calculate(text) + 0).toBe(expected + 0);
      }),
    );
  });
});
