// Workers for what is too long for a deployed function. On a laptop the pump takes those tasks like any others, so there is nothing to start.
// Adapter on AWS: adapters/runtime/ecs.ts.
export interface LongWorkers {
  /** A long task was sent: has a worker started if none is there. Idempotent within a minute. Never rejects: the guardian tries again. */
  first(): Promise<void>;
  /** So many tasks wait although workers may be there: has more started, up to a cap, beside those that start already. As `first` otherwise. */
  more(waiting: number): Promise<void>;
}
