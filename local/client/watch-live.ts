// Watches what a run's models say, as long as it is wanted: a stream of the server's, taken up again wherever it ends. Best effort: who follows the run by its
// log misses nothing without it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Api } from "./api.ts";
import { createLiveText, type Saying } from "./live-text.ts";

const RETRY_MS = 1_000;

export interface Watching {
  /** As it is now: another server may have taken over. */
  api(): Api;
  readonly runId: string;
  /** Where the log has been read up to. */
  after(): string;
  readonly signal: AbortSignal;
  onSaying(saying: readonly Saying[]): void;
}

/** Resolves when it is wanted no more, or the run has ended. Never rejects. */
export async function watchLive({ api, runId, after, signal, onSaying }: Watching): Promise<void> {
  const live = createLiveText();
  while (!signal.aborted) {
    try {
      for await (const item of api().watch(runId, { after: after() }, signal)) {
        if (item.type === "end") return onSaying([]);
        if (item.type === "delta") live.take(item.piece);
        else live.recorded([item.event]);
        onSaying(live.now());
      }
    } catch {
      // The server is away, or ends: whoever follows the run says so.
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}
