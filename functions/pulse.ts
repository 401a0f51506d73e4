// The guardian where no process stays: called by the pulse's messages every few seconds while anything is due soon, and by a schedule every minute, which
// starts a pulse that was lost. One pass at a time.
import middy from "@middy/core";
import type { Context, SQSEvent } from "aws-lambda";
import * as z from "zod";
import type { Agents } from "../shared/ports/agents.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Pulse } from "../shared/ports/pulse.ts";
import type { LongWorkers } from "../shared/ports/runtime.ts";
import { failureFields, logFailure } from "./failures.ts";
import type { GuardianAnswer, GuardianHandler } from "./guardian.ts";

export interface PulseDeps {
  readonly pulse: Pulse;
  readonly agents: Agents;
  readonly guardian: GuardianHandler;
  readonly log: Log;
  sendBeat(beat: number): Promise<void>;
  /** Looks whether long tasks wait, and has workers started; null: this installation has none. */
  readonly longWork: (() => Promise<void>) | null;
}

/** What a pass answers; null: the message was a double, or another pass is under way. */
export type PulseHandler = (event: unknown, context: Context) => Promise<GuardianAnswer | null>;

const beatOf = z.object({ beat: z.number().int() });

export function createPulseHandler(deps: PulseDeps): PulseHandler {
  return middy({ timeoutEarlyInMillis: 0 })
    .use(logFailure(deps.log, "guardian"))
    .handler<unknown>(async (event, context): Promise<GuardianAnswer | null> => {
      const beat = beatIn(event);
      // Before the pass, which may fail: the next beat goes on all the same.
      if (!(await goOn(deps, beat))) return null;
      const oldestReadyMs = await deps.pulse.oldestReadyMs(deps.agents.names());
      try {
        const answer = await deps.pulse.alone(() => deps.guardian(event, context));
        if (answer !== null) deps.log.info("guardian pass", { ...answer, oldestReadyMs });
        return answer;
      } finally {
        await deps.longWork?.(); // after a pass that failed as well
      }
    });
}

/** Rests, looks, starts: what becomes due in between finds a pulse that rests, and starts it itself. False: a double. */
async function goOn({ pulse, agents, sendBeat, log }: PulseDeps, beat: number | null): Promise<boolean> {
  if (beat !== null && !(await pulse.rest(beat))) return false;
  if (!(await pulse.soon(agents.names()))) return true;
  const next = await pulse.start();
  try {
    if (next !== null) await sendBeat(next);
  } catch (e) {
    log.warn("pulse lost", failureFields(e)); // late in a few seconds, and then started anew
  }
  return true;
}

/** Null: the schedule's event. */
function beatIn(event: unknown): number | null {
  const body = (event as Partial<SQSEvent> | null)?.Records?.[0]?.body;
  if (body === undefined) return null;
  const parsed = beatOf.safeParse(parse(body));
  return parsed.success ? parsed.data.beat : null;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** Tasks that two passes in a row find waiting are more than those take who are there. Never rejects. */
export function createLongWork(workers: LongWorkers, waiting: () => Promise<number>, log: Log): () => Promise<void> {
  let waited = false;
  return async () => {
    try {
      const tasks = await waiting();
      if (tasks > 0) await (waited ? workers.more(tasks) : workers.first());
      waited = tasks > 0;
    } catch (e) {
      log.warn("long tasks not counted", failureFields(e));
    }
  };
}
