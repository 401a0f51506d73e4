// What one half of a run measures with: opened, and used a little, at its begin. So prepared statements have the plans of the tables as they are then, and the
// pools keep those connections for as long as no figure leaves them idle for half a minute.
import type { Database } from "../shared/ports/database.ts";
import { bareInsert, batchedInsert } from "./bare.ts";
import type { BenchDatabase } from "./database.ts";
import { appender } from "./figures/append.ts";
import { engineRound } from "./figures/throughput.ts";
import { AGENT } from "./ground.ts";
import { createLongTask } from "./long-task.ts";
import { createStack, type Stack } from "./stack.ts";

export interface Half {
  /** Pools as a worker has them. */
  readonly database: Database;
  /** The worker over them. */
  readonly stack: Stack;
  /** One append, on a connection of its own. */
  append(): Promise<void>;
  /** One bare insert each, on a connection each: eight. */
  readonly bare: readonly (() => Promise<void>)[];
  /** One batched insert each, on two of them. */
  readonly batched: readonly (() => Promise<void>)[];
  close(): Promise<void>;
}

const CONNECTIONS = 8;
const BATCHING = 2;
/** Postgres settles for a cached plan at the sixth use. */
const WARM_UPS = 10;

export async function openHalf(bench: BenchDatabase): Promise<Half> {
  const database = await bench.open();
  const single = await bench.open({ appends: 1, pool: 1 });
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => bench.connect()));
  const stack = createStack(database, [AGENT]);
  const append = await appender(single);
  const bare = clients.map(bareInsert);
  const batched = clients.slice(0, BATCHING).map((client) => batchedInsert(client));

  for (let i = 0; i < WARM_UPS; i++) for (const work of [append, ...bare, ...batched]) await work();
  await stack.work(() => engineRound(stack, 2));
  const task = await createLongTask(database, 20);
  for (let i = 0; i < WARM_UPS; i++) {
    await task.resume();
    await task.release();
  }
  await task.close();
  return {
    database,
    stack,
    append,
    bare,
    batched,
    close: async () => {
      await stack.close();
      await Promise.all([database.close(), single.close(), ...clients.map((client) => client.end())]);
    },
  };
}
