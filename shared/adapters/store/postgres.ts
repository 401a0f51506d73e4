// The store on Postgres. One committer per agent schema and worker; everything else asks as it needs. Twin: the simulation's, in test/sim.
import type { Database } from "../../ports/database.ts";
import type { Store, StreamStore } from "../../ports/store.ts";
import { createChildren } from "./children.ts";
import { createErasure } from "./erasure.ts";
import { createExports } from "./exports.ts";
import { createForks } from "./forks.ts";
import { createRetries } from "./retries.ts";
import { createRuns } from "./runs.ts";
import { createStatements } from "./statements.ts";
import { createStreams } from "./streams.ts";
import { createTasks } from "./tasks.ts";
import { createTraces } from "./traces.ts";
import { createWatch } from "./watch.ts";

export interface Observer {
  /** Told how many milliseconds an append took, from asking to its durable answer; one that failed isn't told of. */
  appended(ms: number): void;
}

/** Needs the schemas that `migrate` makes. Holds no connection and no timer while nothing is asked of it. */
export function createStore(database: Pick<Database, "appends" | "pool" | "sealer">, observer?: Observer): Store {
  const statements = createStatements(database);
  return {
    streams: observed(createStreams(database, statements), observer),
    tasks: createTasks(statements),
    runs: createRuns(database.appends, statements),
    children: createChildren(statements),
    watch: createWatch(statements),
    retries: createRetries(database.appends, statements),
    forks: createForks(database.appends, statements),
    exports: createExports(statements),
    erasure: createErasure(statements),
    traces: createTraces(statements),
  };
}

const observed = (streams: StreamStore, observer: Observer | undefined): StreamStore =>
  observer === undefined
    ? streams
    : {
        ...streams,
        append: async (append) => {
          const began = performance.now();
          const appended = await streams.append(append);
          observer.appended(performance.now() - began);
          return appended;
        },
      };
