// The guardian's pass: fires schedules, nudges what is stalled; called by a clock: every 5 s on a laptop, by the pulse and the minute schedule on AWS. Once an hour it audits as well (I10).
import middy from "@middy/core";
import type { Context } from "aws-lambda";
import { AUDIT_EVERY_MS } from "../shared/core/limits.ts";
import { addCounts } from "../shared/engine/add-counts.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { retain } from "../shared/engine/erase-runs.ts";
import { type FireDeps, fireSchedules } from "../shared/engine/fire-schedules.ts";
import { audit, guard } from "../shared/engine/guard.ts";
import { createParts } from "../shared/engine/parts.ts";
import type { Totals } from "../shared/ports/totals.ts";
import { logFailure } from "./failures.ts";

export interface GuardianAnswer {
  /** Streams that got a new hint. */
  readonly nudged: number;
  /** Runs that schedules started. */
  readonly fired: number;
  /** Parked streams that nobody would have woken; null when this pass didn't look. */
  readonly fixed: number | null;
}
export type GuardianHandler = (event: unknown, context: Context) => Promise<GuardianAnswer>;

/** A fresh worker audits at its first pass: what it was started for may be a crash. `elapsedMs` measures, it decides nothing about streams (I8). */
export function createGuardianHandler(
  engine: Pick<EngineDeps, "store" | "queue" | "agents" | "files" | "log"> &
    FireDeps & {
      readonly totals: Totals;
    },
  use = { guard, audit, retain, addCounts, fire: fireSchedules, elapsedMs: () => performance.now() },
): GuardianHandler {
  let auditDueMs = Number.NEGATIVE_INFINITY;
  return middy({ timeoutEarlyInMillis: 0 })
    .use(logFailure(engine.log, "guardian"))
    .handler<unknown>(async (): Promise<GuardianAnswer> => {
      const parts = createParts(); // all fail while one agent's schema is broken
      const fired = await parts.done(async () => (await use.fire(engine)).fired);
      const nudged = await parts.done(async () => (await use.guard(engine)).nudged);
      await parts.done(() => use.addCounts(engine));
      let fixed: number | null = null;
      if (use.elapsedMs() >= auditDueMs) {
        fixed = await parts.done(async () => (await use.audit(engine)).fixed);
        if (fixed !== null) auditDueMs = use.elapsedMs() + AUDIT_EVERY_MS;
        await parts.done(() => use.retain(engine));
      }
      if (fixed !== null && fixed > 0) engine.log.error("parked streams were forgotten", { fixed });
      parts.check();
      return { nudged: nudged ?? 0, fired: fired ?? 0, fixed };
    });
}
