import type { Flow } from "../../shared/ports/flow.ts";
import { flowConformance } from "../conformance/flow.ts";
import { Gates } from "./flow.ts";

const gates = new Gates(() => 0.5);
let clock = Date.UTC(2030, 5, 1);
/** No two readings are equal. */
const now = (): number => ++clock;

const flow: Flow = {
  enter: async (stream, wanted, leaseMs) => gates.enter(now(), stream, wanted, leaseMs, false),
  leave: async (stream, keys, used = {}) => gates.leave(now(), stream, keys, used, false),
  renew: async (streams, leaseMs) => gates.renew(now(), streams, leaseMs),
  coolDown: async (key, ms) => gates.coolDown(now(), key, ms),
  coolDowns: async () => ({ now: now(), until: gates.coolDowns(clock) }),
};

flowConformance("the simulation's flow control", () => ({
  flow,
  other: flow,
  empty: async () => gates.clear(),
  pass: async (ms) => {
    clock += ms;
  },
}));
