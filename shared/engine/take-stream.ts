// How a worker comes to write a stream, or leaves it alone: leases (I2), generations (I7), crash loops (from three deaths on alone, after
// three deaths alone it fails).

import { type ErrorInfo, isOutage } from "../core/errors.ts";
import { CRASHES_ALONE_MAX, CRASHES_BEFORE_SOLO, DEFER_MS, GRACE_MS, LONG_GRACE_MS } from "../core/limits.ts";
import { sealedAway } from "../core/sealing.ts";
import type { Deployed, Lane, RoleDefinition } from "../ports/agents.ts";
import type { Hint } from "../ports/queue.ts";
import type { Lease } from "../ports/store.ts";
import type { Circumstances, EngineDeps, Worked } from "./deps.ts";
import { nudge, nudgeLater, streamOf } from "./hints.ts";

export type Taken =
  | { readonly type: "taken"; readonly lease: Lease; readonly deployed: Deployed; readonly crashLoop: ErrorInfo | null }
  | { readonly type: "not"; readonly worked: Worked };

const not = (worked: Worked): Taken => ({ type: "not", worked });

export async function takeStream(deps: EngineDeps, hint: Hint, at: Circumstances): Promise<Taken> {
  const deployed = deps.agents.get(hint.agent);
  if (deployed === null) return not("unserved");
  const stream = streamOf(hint);
  const acquired = await deps.store.streams.acquire(stream, {
    owner: deps.uuid(),
    generation: deployed.generation,
    leaseMs: deps.leaseMs,
    solo: at.solo,
  });
  switch (acquired.type) {
    case "leased":
      deps.keeper.poke(stream.agent, stream.runId, stream.streamId); // if its writer is here, it looks at its inbox now
      return not("leased");
    case "ended":
      return not("terminal");
    case "missing":
      return not("missing");
    case "newer": {
      const message = `generation ${acquired.generation} wrote this stream, this worker has ${deployed.generation}: a worker with the newer code takes it`;
      await stepBack(deps, hint, { code: "generation.older", message });
      return not("deferred");
    }
    case "acquired": {
      const { lease } = acquired;
      if (acquired.watched) deps.live.heed(lease.stream.runId);
      if (lease.attempts > CRASHES_BEFORE_SOLO && !at.solo) {
        await giveBack(deps, lease, 0, true);
        await nudge(deps, [hint], { lane: "solo" });
        return not("deferred");
      }
      const deaths = lease.soloAttempts - 1;
      const message = `The worker died ${deaths} times in a row while working on this alone: memory, an endless loop, or a crash in native code.`;
      return {
        type: "taken",
        lease,
        deployed,
        crashLoop: deaths >= CRASHES_ALONE_MAX ? { code: "crash_loop", message } : null,
      };
    }
  }
}

/**
 * Lets go of a stream that was taken but not written. `crashing`: it moves to a worker where it is alone, and its count goes with it. Whoever steps back
 * for another reason has not died: the count starts anew, or a storm's waits would end as a crash loop.
 */
export async function giveBack(deps: EngineDeps, lease: Lease, afterMs: number, crashing = false): Promise<void> {
  await deps.store.streams.append({
    lease,
    head: lease.head,
    events: [],
    next: { type: "release", afterMs, keepAttempts: crashing },
    progress: false,
  });
}

/** Where the tasks of a role belong, if it isn't here. What must run alone because it crashes does so, whatever its role says. */
export function laneElsewhere({ lane }: RoleDefinition, at: Circumstances): Lane | null {
  if (at.solo || lane === undefined) return null;
  return lane === "solo" || at.deadline !== undefined ? lane : null;
}

/** Sends a stream that was taken, and not written yet, where its role belongs. The guardian gives that worker time to start. */
export async function moveTo(deps: EngineDeps, hint: Hint, lease: Lease, lane: Lane): Promise<Worked> {
  await giveBack(deps, lease, lane === "long" ? LONG_GRACE_MS : GRACE_MS);
  await nudge(deps, [hint], { lane });
  return "deferred";
}

/**
 * What is on record can't be opened here: its key isn't this worker's, or something was changed. The run isn't failed by that: it is left to a worker that
 * has the key, as by an older version (I7). Rethrows whatever else was thrown.
 */
export async function leaveSealed(deps: EngineDeps, hint: Hint, thrown: unknown): Promise<Worked> {
  const problem = sealedAway(thrown);
  if (problem === null) throw thrown;
  await stepBack(deps, hint, problem);
  return "deferred";
}

/** A first look at a stream just taken. If it fails the lease is let go of: the hint comes again long before it would run out. */
export async function readOrGiveBack<T>(deps: EngineDeps, lease: Lease, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    const died = !isOutage(thrown) && sealedAway(thrown) === null;
    await giveBack(deps, lease, GRACE_MS, died).catch(() => {}); // then it runs out by itself
    throw thrown;
  }
}

/** Not this worker's to touch: says why, acknowledges, and sends the hint on (never a nack, which would burn the receive count). */
export async function stepBack(deps: EngineDeps, hint: Hint, problem: ErrorInfo): Promise<void> {
  deps.log.warn("stream left alone", { agent: hint.agent, runId: hint.runId, taskId: hint.taskId, code: problem.code });
  await deps.store.watch.defer(streamOf(hint), problem, DEFER_MS);
  await nudgeLater(deps, hint, DEFER_MS);
}

/** The log holds an event that this version doesn't know: a newer one's, not damage to repair (I7). */
export async function leaveToNewer(
  deps: EngineDeps,
  hint: Hint,
  lease: Lease,
  unknown: { seq: number; type: string },
): Promise<Worked> {
  await giveBack(deps, lease, DEFER_MS);
  const message = `event ${unknown.seq} of type ${unknown.type} is of a newer version than this worker`;
  await stepBack(deps, hint, { code: "generation.older", message });
  return "deferred";
}
