// Workers for what is too long for a deployed function. On a laptop the pump takes those tasks like any others, so there is nothing to start.
// Adapter on AWS: adapters/runtime/ecs.ts.
export interface LongWorkers {
  /**
   * Long tasks wait: has a worker started unless enough are there, up to a cap. Best effort and idempotent within a minute: whoever sends such a task
   * calls it, and the guardian while any wait. Never rejects.
   */
  ensure(waiting: number): Promise<void>;
}
