// Parking, of either kind of stream (I10): only if every fact was absorbed, and with a hint for the time when it goes on by itself.
import type { Hint } from "../ports/queue.ts";
import type { Wait } from "../ports/store.ts";
import type { EngineDeps, Worked } from "./deps.ts";
import { nudgeAt } from "./hints.ts";
import type { StreamWriter } from "./stream-writer.ts";

/** When to wake, and the database's time as of the decision: the hint's delay is the difference (I8). */
export interface Wake {
  readonly at: number;
  readonly now: number;
}

/** Null: the park was refused, because a fact came that nobody has absorbed: go on. */
export async function parkStream(
  { deps, hint, writer }: { readonly deps: EngineDeps; readonly hint: Hint; readonly writer: StreamWriter },
  wait: Wait,
  wake: Wake | null = null,
): Promise<Worked | null> {
  const { status } = await writer.flush({ type: "park", absorbed: writer.absorbed, wait, wakeAt: wake?.at ?? null });
  if (status === "running") return null;
  if (wake !== null) await nudgeAt(deps, hint, wake.at, wake.now);
  return "parked";
}
