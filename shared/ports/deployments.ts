// Which code is the newest (I7). Written by a deployer: migrate, the dev server, `toren run`'s own server; only read by workers.
export interface Deployments {
  /** The newest's hash again is the same generation; any other the next one, a rollback too. */
  register(agent: string, codeHash: string): Promise<number>;
  /** The generation that a worker with this code speaks for; null: never registered. */
  generationOf(agent: string, codeHash: string): Promise<number | null>;
  /** The newest generation of each agent that was ever registered. */
  newest(): Promise<ReadonlyMap<string, number>>;
  /** Agents that have a schema here. */
  agents(): Promise<string[]>;
}
