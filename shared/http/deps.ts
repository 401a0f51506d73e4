// What the routes need: the use cases bound to their engine, a few reads, and who may ask. Composed by local/compose.ts; on AWS by functions/aws.ts.
import type { Told } from "../engine/cancel-run.ts";
import type { RunView } from "../engine/read-run.ts";
import type { Started, StartRequest } from "../engine/start-run.ts";
import type { Agents } from "../ports/agents.ts";
import type { Files } from "../ports/files.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";

export interface RunRef {
  readonly agent: string;
  readonly runId: string;
}

export interface UseCases {
  startRun(request: StartRequest): Promise<Started>;
  cancelRun(request: RunRef & { readonly reason: string }): Promise<Told>;
  resumeRun(request: RunRef): Promise<Told>;
  /** Null: no such run. */
  readRun(request: RunRef): Promise<RunView | null>;
}

export interface HttpDeps {
  readonly useCases: UseCases;
  readonly store: {
    readonly runs: Pick<Store["runs"], "agentOf" | "list" | "streams">;
    readonly streams: Pick<Store["streams"], "read">;
  };
  readonly agents: Agents;
  readonly files: Pick<Files, "add">;
  readonly log: Log;
  /** Whether the key may use this installation. It has the form of a key; compare in constant time. */
  admits(key: string): Promise<boolean>;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Aborts when the server ends: readers that wait are answered with what there is. */
  readonly closing?: AbortSignal;
}
