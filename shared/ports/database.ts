// A Postgres to talk to. Twins: adapters/database/{url,embedded}.ts on a laptop, RDS with IAM tokens on AWS.
import type { Pool } from "pg";

export interface Database {
  /** For appends: planner settings and time-outs as ARCHITECTURE.md says. */
  readonly appends: Pool;
  /** For everything else. */
  readonly pool: Pool;
  /** For people and child workers: the connection string, without secrets in a log. */
  readonly url: string;
  close(): Promise<void>;
}
