// What the suites of flow control share: streams by number, and what is expected of entering.
import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { FLOW_SETTLE_MS } from "../../../shared/core/limits.ts";
import type { Call, Entered, Flow, Gate } from "../../../shared/ports/flow.ts";
import type { StreamRef } from "../../../shared/ports/store.ts";

export interface FlowUnderTest {
  readonly flow: Flow;
  /** The same gates, seen by another worker. */
  readonly other: Flow;
  empty(): Promise<void>;
  /** As if so much time had passed: all that is due later is due sooner. */
  pass(ms: number): Promise<void>;
}

export const LEASE_MS = 60_000;
const run = randomUUID();
export const stream = (n: number): StreamRef => ({ agent: "crew", runId: run, streamId: `task:w0t${n}` });
export const gate = (key: string, max: number | null): Gate => ({ key, max, rate: null });
export const rated = (key: string, perMinute: number, tokens: number, max: number | null = null): Gate => ({
  key,
  max,
  rate: { perMinute, tokens },
});
export const inMs = (call: Call | undefined): number => (call === undefined ? Number.NaN : call.at - call.now);
export const ids = (calls: readonly Call[]): string[] => calls.map((c) => c.stream.streamId.slice("task:w0t".length));

export interface FlowBench {
  get(): FlowUnderTest;
  enter(n: number, ...gates: Gate[]): Promise<Entered>;
  leave(n: number, ...keys: string[]): Promise<readonly Call[]>;
  enters(n: number, ...gates: Gate[]): Promise<readonly Call[]>;
  /** And has parked. */
  waits(n: number, ...gates: Gate[]): Promise<Entered & { type: "wait" }>;
  called(calls: readonly Call[], ...expected: number[]): void;
}

export function createFlowBench(get: () => FlowUnderTest): FlowBench {
  const enter: FlowBench["enter"] = (n, ...gates) => get().flow.enter(stream(n), gates, LEASE_MS);
  return {
    get,
    enter,
    leave: (n, ...keys) => get().flow.leave(stream(n), keys),
    enters: async (n, ...gates) => {
      const entered = await enter(n, ...gates);
      expect([n, entered.type]).toEqual([n, "entered"]);
      return entered.called;
    },
    waits: async (n, ...gates) => {
      const entered = await enter(n, ...gates);
      expect([n, entered.type]).toEqual([n, "wait"]);
      await get().pass(FLOW_SETTLE_MS);
      return entered as Entered & { type: "wait" };
    },
    called: (calls, ...expected) => expect(ids(calls)).toEqual(expected.map(String)),
  };
}
