// Reading a task's log, and keeping a session's state where it parks: its next turn then reads what is new, not the whole conversation.
import type { RawEvent } from "../core/events.ts";
import { SNAPSHOT_EVERY_EVENTS } from "../core/limits.ts";
import { type Snapshot, snapshotOf } from "../core/task/snapshot.ts";
import type { Lease, Store, TaskSpec } from "../ports/store.ts";
import type { Worked } from "./deps.ts";
import { parkStream } from "./park-stream.ts";
import type { TaskWork } from "./task-work.ts";

interface Read {
  readonly spec: TaskSpec | null;
  readonly snapshot: Snapshot | null;
  readonly raw: readonly RawEvent[];
}

export async function readTask({ streams, tasks }: Store, { stream, wait }: Lease): Promise<Read> {
  // Only a session that waited for its user has a snapshot that saves much: everything else is read in one go.
  const kept = wait === "input" ? tasks.snapshot(stream) : Promise.resolve(null);
  const [spec, { snapshot, raw }] = await Promise.all([
    tasks.spec(stream),
    kept.then(async (snapshot) => ({ snapshot, raw: await streams.read(stream, snapshot?.seq ?? 0) })),
  ]);
  return { spec, snapshot, raw };
}

/** Null: a message came already. */
export async function waitForInput(work: TaskWork): Promise<Worked | null> {
  const { writer, state, deps } = work;
  const parked = await parkStream(work, "input");
  if (parked === null) return null;
  const { head, absorbed } = writer;
  if (head - work.snapshotSeq < SNAPSHOT_EVERY_EVENTS) return parked;
  const kept = snapshotOf(state);
  if (kept === null) return parked;
  // After the park, when the log holds what it is of. Whoever writes next doesn't make it wrong.
  await deps.store.tasks.keepSnapshot(writer.lease.stream, { seq: head, absorbed, state: kept }).catch((thrown) => {
    deps.log.warn("a session's state was not kept", {
      error: thrown instanceof Error ? thrown.message : String(thrown),
    });
  });
  return parked;
}
