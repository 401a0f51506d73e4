// The signal of one effect, linked to a writer's that outlives it.
import { getEventListeners } from "node:events";
import { expect, test } from "@jest/globals";
import { linkedTo } from "../../shared/engine/linked-signal.ts";

test("aborts with the outer signal, for its reason", () => {
  const outer = new AbortController();
  const linked = linkedTo(outer.signal);
  expect(linked.signal.aborted).toBe(false);
  outer.abort("lost");
  expect(linked.signal.reason).toBe("lost");
});

test("an outer signal that was aborted before aborts it at once", () => {
  expect(linkedTo(AbortSignal.abort("lost")).signal.reason).toBe("lost");
});

test("aborts alone, and leaves the outer signal as it is", () => {
  const outer = new AbortController();
  const linked = linkedTo(outer.signal);
  linked.abort();
  expect([linked.signal.aborted, outer.signal.aborted]).toEqual([true, false]);
});

test("what is over hears nothing any more, and ten thousand effects leave nothing on the outer signal", () => {
  const outer = new AbortController();
  const over = linkedTo(outer.signal);
  over.unlink();
  for (let i = 0; i < 10_000; i++) {
    const one = linkedTo(outer.signal);
    if (i % 2 === 0) one.abort();
    else one.unlink();
  }
  expect(getEventListeners(outer.signal, "abort")).toEqual([]);
  outer.abort();
  expect(over.signal.aborted).toBe(false);
});
