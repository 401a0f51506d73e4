import { expect, test } from "@jest/globals";
import { CLOCKS } from "../../../local/testing/clock.ts";
import { QUERIES } from "../../../shared/sql/queries.ts";

const CLOCK =
  /\b((?!to_)\w*timestamp|now|timeofday|age)\s*\(|\b(CURRENT_(?:TIME|TIMESTAMP|DATE)|LOCALTIME(?:STAMP)?)\b/gi;

test("I8: virtual time reaches every clock that a query reads", () => {
  const read = Object.values(QUERIES).flatMap((sql) =>
    [...sql.replaceAll(/--.*$/gm, "").matchAll(CLOCK)].map(([, call, syntax]) => call ?? syntax ?? ""),
  );
  expect(read.length).toBeGreaterThan(10);
  expect([...new Set(read)].filter((clock) => !Object.hasOwn(CLOCKS, clock))).toEqual([]);
});
