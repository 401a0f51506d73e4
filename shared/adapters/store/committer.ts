// Group commit: appends of many streams of one agent travel in one statement. What has gathered leaves while fewer than two flushes are under way, so a
// lone append waits for nobody, and a busy worker's batches grow by themselves. At most one append of a stream is on its way at any time.
import { TorenError } from "../../core/errors.ts";
import { COMMIT_BATCH_BYTES, COMMIT_BATCH_ITEMS, COMMIT_FLUSHES } from "../../core/limits.ts";
import type { Append, Appended } from "../../ports/store.ts";

/** An append in the form that a statement takes, and whoever waits for it. */
export interface Item {
  readonly append: Append;
  readonly streamKey: string;
  readonly events: readonly { readonly type: string; readonly text: string }[];
  /** What becomes of the run's row when its own stream ends. */
  readonly output: string | null;
  readonly error: string | null;
  readonly bytes: number;
  resolve(appended: Appended): void;
  reject(thrown: unknown): void;
}

export interface Committer {
  /** @throws (rejects) what the flush makes of a failure. */
  commit(item: Omit<Item, "resolve" | "reject">): Promise<Appended>;
}

/** `flush` settles every item it is given and never rejects. */
export function createCommitter(flush: (items: readonly Item[]) => Promise<void>): Committer {
  let waiting: Item[] = [];
  let flushes = 0;
  let scheduled = false;
  /** Appends that left and aren't answered, by stream. */
  const onTheirWay = new Map<string, Item>();

  const take = (): Item[] => {
    const batch: Item[] = [];
    const later: Item[] = [];
    let bytes = 0;
    for (const item of waiting) {
      const fits =
        batch.length === 0 || (batch.length < COMMIT_BATCH_ITEMS && bytes + item.bytes <= COMMIT_BATCH_BYTES);
      if (!fits || onTheirWay.has(item.streamKey)) {
        later.push(item);
        continue;
      }
      batch.push(item);
      bytes += item.bytes;
      onTheirWay.set(item.streamKey, item);
    }
    waiting = later;
    return batch;
  };
  const go = (): void => {
    scheduled = false;
    while (flushes < COMMIT_FLUSHES) {
      const batch = take();
      if (batch.length === 0) return;
      flushes++;
      void flush(batch).then(() => {
        flushes--;
        schedule();
      });
    }
  };
  /** After the turn: the answers of one flush wake many writers, and their next appends belong together. */
  const schedule = (): void => {
    if (scheduled || waiting.length === 0) return;
    scheduled = true;
    setImmediate(go);
  };
  const sameWriter = (a: Append, b: Append): boolean => a.lease.epoch === b.lease.epoch;

  return {
    commit: (item) => {
      const other = onTheirWay.get(item.streamKey) ?? waiting.find((w) => w.streamKey === item.streamKey);
      // A zombie of this very worker may write beside its successor: it waits for its turn and gets its conflict. One writer twice is a bug.
      if (other !== undefined && sameWriter(other.append, item.append))
        return Promise.reject(
          new TorenError("bug", `${item.streamKey}: an append was begun before the one before it was answered`),
        );
      return new Promise<Appended>((resolve, reject) => {
        const answered = () => onTheirWay.delete(item.streamKey);
        waiting.push({
          ...item,
          resolve: (appended) => {
            answered();
            resolve(appended);
          },
          reject: (thrown) => {
            answered();
            reject(thrown);
          },
        });
        schedule();
      });
    },
  };
}
