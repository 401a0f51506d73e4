import { describe, expect, test } from "@jest/globals";
import { guardRejections } from "./guard.ts";
import { parameters, properties, tally } from "./properties.ts";

describe("deterministic re-execution over random programs", () => {
  const guard = guardRejections();
  for (const { name, check, share = 1 } of properties) {
    test(name, () => check(parameters(Math.ceil(150 * share))), 600_000);
  }
  test("the programs were not trivial", () => {
    expect(tally["… operations"]).toBeGreaterThan(100);
    expect(tally["prefixes replayed"]).toBeGreaterThan(100);
    expect(tally["… cuts"]).toBeGreaterThan(0);
    expect(tally["… claimed tasks"]).toBeGreaterThan(0);
    expect(tally["… tasks that answer for others"]).toBeGreaterThan(0);
    expect(tally["open waits for signals"]).toBeGreaterThan(100);
    expect(tally["… parts"]).toBeGreaterThan(100);
    expect(tally["… signals kept"]).toBeGreaterThan(0);
    expect(tally["… given up"]).toBeGreaterThan(0);
    expect(guard.swallowed).toBeGreaterThan(0);
  });
});
