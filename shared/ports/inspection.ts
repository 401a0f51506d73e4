// What people look at in a run beyond what the engine needs: a stream in outline, and what its requests began with. Twins: adapters/store (Postgres).
import type { Json } from "../core/json.ts";
import type { RequestHeader, StreamRef } from "./store.ts";

/** An event without what is large in it: `said` is the beginning of the text that stood there. */
export interface OutlineEvent {
  readonly seq: number;
  readonly type: string;
  /** Milliseconds since 1970 by the database's clock. */
  readonly recordedAt: number;
  readonly payload: Readonly<Record<string, Json>>;
}

export interface Inspection {
  /** A stream's events after `after`, in order, at most `limit`: one statement, and never a blob. */
  outline(stream: StreamRef, after: number, limit: number): Promise<OutlineEvent[]>;
  /** What requests of this digest begin with; null: nothing was kept under it. */
  header(agent: string, digest: string): Promise<RequestHeader | null>;
}
