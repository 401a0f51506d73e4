// A Postgres to talk to. Twins: adapters/database/{url,embedded}.ts on a laptop, RDS with IAM tokens on AWS.
import type { Client, Pool } from "pg";

export interface Database {
  /** For appends: planner settings and time-outs as ARCHITECTURE.md says. */
  readonly appends: Pool;
  /** For everything else. */
  readonly pool: Pool;
  /** A connection of its own beyond the pools, to listen by; it keeps no process alive. Its `end` is the caller's. */
  session(): Promise<Client>;
  /** For people and child workers: the connection string, without secrets in a log. */
  readonly url: string;
  close(): Promise<void>;
}
