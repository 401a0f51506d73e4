// What a worker holds for the streams that it works on: their leases, and their places at gates. Both run out with its heart, so both are renewed by one beat;
// every composition makes them here, so that none forgets a half.
import type { Flow } from "../ports/flow.ts";
import type { LiveOut } from "../ports/live.ts";
import type { Log } from "../ports/log.ts";
import type { StreamStore } from "../ports/store.ts";
import { createLeaseKeeper, type LeaseKeeper } from "./lease-keeper.ts";
import { createWorkerFlow, type WorkerFlowDeps } from "./worker-flow.ts";

export interface HoldsDeps extends WorkerFlowDeps {
  readonly streams: StreamStore;
  readonly leaseMs: number;
  readonly log: Log;
  /** Hears of runs that somebody watches. */
  readonly live: Pick<LiveOut, "heed">;
}

/** `flow` in: the gates as the store has them; out: as this worker has them. */
export function createHolds({ streams, leaseMs, log, live, ...gates }: HoldsDeps): {
  readonly flow: Flow;
  readonly keeper: LeaseKeeper;
} {
  const flow = createWorkerFlow(gates);
  return { flow, keeper: createLeaseKeeper(streams, leaseMs, log, { renew: flow.renew, heed: live.heed }) };
}
