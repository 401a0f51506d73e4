// The store on Postgres. One committer per agent schema and worker; everything else asks as it needs. Twin: the simulation's, in test/sim.
import type { Database } from "../../ports/database.ts";
import type { Store } from "../../ports/store.ts";
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

/** Needs the schemas that `migrate` makes. Holds no connection and no timer while nothing is asked of it. */
export function createStore(database: Pick<Database, "appends" | "pool">): Store {
  const statements = createStatements(database);
  return {
    streams: createStreams(database, statements),
    tasks: createTasks(statements),
    runs: createRuns(database.appends, statements),
    watch: createWatch(statements),
    retries: createRetries(database.appends, statements),
    forks: createForks(database.appends, statements),
    exports: createExports(statements),
    erasure: createErasure(statements),
    traces: createTraces(statements),
  };
}
