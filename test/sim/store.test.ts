import { setTimeout as wait } from "node:timers/promises";
import { storeConformance } from "../conformance/store.ts";
import type { Connection } from "./connection.ts";
import { SimDatabase } from "./database.ts";
import { createRandom } from "./random.ts";
import { Scheduler } from "./scheduler.ts";
import { createSimStore } from "./store.ts";

storeConformance("the simulation's store, in any order of its statements", async () => {
  const random = createRandom(Number(process.env.SEED ?? 1));
  const scheduler = new Scheduler(random, { adverse: true, slow: 0.1 });
  const db = new SimDatabase(scheduler, random);
  let open = true;
  const turning = (async () => {
    while (open) {
      if (await scheduler.step())
        scheduler.now += 1; // Postgres counts microseconds: what is made one after the other isn't of one moment
      else await wait(1);
    }
  })();
  const connection = (owner: string): Connection => ({ db, owner, clockOffMs: 0, tries: 1, fate: () => "answered" });
  return {
    store: createSimStore(connection("one")),
    other: createSimStore(connection("other")),
    agent: "conformance",
    passTime: async (ms) => {
      scheduler.now += ms;
    },
    close: async () => {
      open = false;
      await turning;
    },
  };
});
