// Mistakes planted in the store's statements, each of them one that was made somewhere: the simulation finds every one.
import { describe, expect, test } from "@jest/globals";
import type { Plants } from "./database.ts";
import { simulate } from "./simulate.ts";

/** Seeds within which a mistake must show; most show within a tenth of it. */
const SEEDS_MAX = 1_500;

const MISTAKES: readonly { readonly plant: keyof Plants; readonly what: string; readonly symptom: RegExp }[] = [
  { plant: "noEpoch", what: "I12: an append whose compare leaves out the epoch", symptom: /./ },
  {
    plant: "parkBlindly",
    what: "I10: a park whatever the inbox holds",
    symptom: /stuck|not over after|parked having seen|parked, and its log/,
  },
  {
    plant: "bellBySnapshot",
    what: "a wave's last task found by the snapshot's count",
    symptom: /stuck|told|nothing wakes it/,
  },
  { plant: "workerClock", what: "I8: leases by the worker's clock", symptom: /more than a lease's time/ },
  { plant: "serialInbox", what: "I3: inbox numbers from a sequence", symptom: /inbox/ },
  { plant: "anyLockOrder", what: "row locks in any order", symptom: /deadlock/ },
  {
    plant: "nothingStopped",
    what: "a run that goes on anew and leaves its tasks be",
    symptom: /wasn't told to stop|goes on untold/,
  },
  { plant: "joinByStream", what: "I2: events joined by the stream", symptom: /seqs are not|head is/ },
];

describe("the simulation finds", () => {
  test.each(MISTAKES)(
    "$what",
    async ({ plant, symptom }) => {
      for (let seed = 1; seed <= SEEDS_MAX; seed++) {
        const { wrong } = await simulate(seed, { plants: { [plant]: true } });
        if (wrong.length === 0) continue;
        expect(wrong.join("\n")).toMatch(symptom);
        return;
      }
      throw new Error(`${plant} went unseen over ${SEEDS_MAX} seeds`);
    },
    120_000,
  );
});
