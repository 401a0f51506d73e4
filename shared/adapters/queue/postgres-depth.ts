// How many hints wait in the Postgres queue. Its twin is sqs-depth.ts.
import { FIGURES_MAX } from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import { QUEUE_NAMES, type QueueDepth } from "../../ports/queue.ts";
import { QUERIES } from "../../sql/queries.ts";
import { repeatedOnce } from "../database/failures.ts";

/** Of every queue, in one statement. At most FIGURES_MAX of each kind are counted. */
export async function depthsOf({ pool }: Pick<Database, "pool">): Promise<QueueDepth[]> {
  const query = () => pool.query<QueueDepth>(QUERIES["read-depths"], [QUEUE_NAMES, FIGURES_MAX]);
  return (await repeatedOnce(query)).rows;
}
