import { describe, expect, test } from "@jest/globals";
import type { Fact } from "../../shared/core/events.ts";
import { isHeld, type Standing, standingAfter } from "../../shared/engine/standing.ts";

const hold = (wave: number): Fact => ({ kind: "hold", wave });
const claim = (wave: number): Fact => ({ kind: "claim", wave });
const standing = (...facts: Fact[]): Standing => facts.reduce(standingAfter, { cut: -1, claimed: -1 });

describe("a task", () => {
  test("that no fact speaks of is free", () => expect(isHeld(standing())).toBe(false));
  test("is held when its plan was cut, and free again when a later plan claims it", () => {
    expect(isHeld(standing(hold(0)))).toBe(true);
    expect(isHeld(standing(hold(0), claim(1)))).toBe(false);
    expect(isHeld(standing(hold(0), claim(1), hold(1)))).toBe(true);
  });
  test("that was never held may be claimed, and held by that plan's cut", () => {
    expect(isHeld(standing(claim(2)))).toBe(false);
    expect(isHeld(standing(claim(2), hold(2)))).toBe(true);
  });
  test("I9: isn't held by a hold that comes after a later plan's claim, in whatever order the facts came", () => {
    expect(isHeld(standing(claim(1), hold(0)))).toBe(false);
    expect(isHeld(standing(claim(3), hold(0), claim(1), hold(1)))).toBe(false);
  });
});
