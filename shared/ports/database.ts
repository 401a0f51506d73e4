// A Postgres to talk to. Twins: adapters/database/{url,embedded}.ts on a laptop, RDS with IAM tokens on AWS.
import type { Client, Pool } from "pg";
import type { Sealer } from "./sealer.ts";

export interface Database {
  /** For appends: planner settings and time-outs as ARCHITECTURE.md says. */
  readonly appends: Pool;
  /** For everything else. */
  readonly pool: Pool;
  /** A connection of its own beyond the pools, to listen by; it keeps no process alive. Its `end` is the caller's. */
  session(): Promise<Client>;
  /** For people and child workers: the connection string, without secrets in a log. */
  readonly url: string;
  /** With what content is sealed on its way in, and opened on its way out. Left out: nothing is, and what others have sealed can't be opened. */
  readonly sealer?: Sealer;
  close(): Promise<void>;
}
