// Calls the guardian every few seconds, one pass after the other. Twin on AWS: the pulse and the minute schedule.
import { randomUUID } from "node:crypto";
import { failureFields } from "../functions/failures.ts";
import type { GuardianHandler } from "../functions/guardian.ts";
import { GUARDIAN_EVERY_MS } from "../shared/core/limits.ts";
import type { Log } from "../shared/ports/log.ts";
import { localContext } from "./sqs-event.ts";

export interface GuardianLoop {
  /** Waits for the pass under way. */
  stop(): Promise<void>;
}

/** A pass that fails is told of once; the next one is made all the same. The first begins at once: what a crash left may be due. */
export function startGuardianLoop(guardian: GuardianHandler, log: Log, everyMs = GUARDIAN_EVERY_MS): GuardianLoop {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let failing = false;
  const pass = async (): Promise<void> => {
    try {
      await guardian({}, localContext("guardian", randomUUID()));
      if (failing) log.info("the guardian works again");
      failing = false;
    } catch (e) {
      if (!failing) log.warn("the guardian's pass failed", failureFields(e));
      failing = true;
    }
    if (!stopped) timer = setTimeout(next, everyMs);
  };
  let current = pass();
  const next = (): void => {
    current = pass();
  };
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await current;
    },
  };
}
