// Settings that come from the environment, checked.
import { HEARTBEATS_PER_LEASE, LEASE_MS } from "../shared/core/limits.ts";
import { UsageError } from "./client/usage-error.ts";

/** A heartbeat at least half a second apart. */
const LEASE_MIN_MS = 500 * HEARTBEATS_PER_LEASE;
const LEASE_MAX_MS = 10 * 60_000;

/** TOREN_LEASE_MS: how long a dead worker's streams stay its own. All workers of a database should have the same. */
export function leaseMsIn(env: NodeJS.ProcessEnv): { readonly leaseMs: number } {
  const text = env.TOREN_LEASE_MS;
  if (!text) return { leaseMs: LEASE_MS };
  const ms = Number(text);
  if (Number.isInteger(ms) && ms >= LEASE_MIN_MS && ms <= LEASE_MAX_MS) return { leaseMs: ms };
  throw new UsageError(`TOREN_LEASE_MS is milliseconds from ${LEASE_MIN_MS} to ${LEASE_MAX_MS}, not "${text}".`);
}
