// Timers on AWS. Up to 15 minutes SQS delays the message, exact to a second. For later times EventBridge Scheduler has a one-off schedule, which is exact
// to a minute only: it fires TIMER_EARLY_MS before the time, and whoever receives the message has the queue delay the rest. Twin on a laptop: postgres.ts.
import { createHash } from "node:crypto";
import type { SchedulerClient } from "@aws-sdk/client-scheduler";
import { messageOf } from "../../core/errors.ts";
import { QUEUE_DELAY_MAX_MS, TIMER_EARLY_MS } from "../../core/limits.ts";
import type { Log } from "../../ports/log.ts";
import type { Outgoing, Queue } from "../../ports/queue.ts";
import type { Timers } from "../../ports/timers.ts";
import { CALLS } from "../aws/calls.ts";

export interface SchedulerOptions {
  readonly queue: Pick<Queue, "send">;
  /** Null: there is no Scheduler, as on some emulators; the guardian brings what the queue can't delay. */
  readonly schedules: {
    /** The schedule group, the role that the schedules send with, and the queue that they send to. */
    readonly group: string;
    readonly roleArn: string;
    readonly queueArn: string;
  } | null;
  readonly log: Log;
}

type Schedules = NonNullable<SchedulerOptions["schedules"]>;

export function createSchedulerTimers({ queue, schedules, log }: SchedulerOptions): Timers {
  let loaded: ReturnType<typeof load> | undefined;
  const schedule = async (to: Schedules, message: Outgoing, dueAt: number, now: number): Promise<void> => {
    loaded ??= load();
    const { sdk, client } = await loaded;
    await client.send(new sdk.CreateScheduleCommand(scheduleOf(to, message, dueAt, now, Date.now())));
  };
  return {
    set: async (message, dueAt, now) => {
      const delayMs = Math.max(0, Math.ceil(dueAt - now));
      if (delayMs <= QUEUE_DELAY_MAX_MS) return await queue.send([{ ...message, delayMs }]);
      if (schedules === null) return;
      try {
        await schedule(schedules, message, dueAt, now);
      } catch (e) {
        // The same stream for the same time has one already; anything else (a throttle, most of all) is left to the guardian.
        if ((e as Error).name === "ConflictException") return;
        log.warn("timer left to the guardian", { runId: message.hint.runId, dueAt, error: messageOf(e) });
      }
    },
  };
}

async function load() {
  const sdk = await import("@aws-sdk/client-scheduler");
  const client: SchedulerClient = new sdk.SchedulerClient({ ...CALLS, maxAttempts: 2 });
  return { sdk, client };
}

/** `here`: this worker's clock, which Scheduler's is like; the store's `now` may be another. */
function scheduleOf(to: Schedules, { hint }: Outgoing, dueAt: number, now: number, here: number) {
  const at = new Date(here + (dueAt - now) - TIMER_EARLY_MS).toISOString().slice(0, 19);
  return {
    Name: nameOf(hint, dueAt),
    GroupName: to.group,
    ScheduleExpression: `at(${at})`,
    ScheduleExpressionTimezone: "UTC",
    FlexibleTimeWindow: { Mode: "OFF" },
    ActionAfterCompletion: "DELETE",
    Target: { Arn: to.queueArn, RoleArn: to.roleArn, Input: JSON.stringify({ ...hint, dueAt }) },
  } as const;
}

/** One schedule for a stream and a time: made twice, it is the same. 64 characters is the most. */
function nameOf({ agent, runId, taskId }: Outgoing["hint"], dueAt: number): string {
  const text = JSON.stringify([agent, runId, taskId, dueAt]);
  return `toren-${createHash("sha256").update(text).digest("hex").slice(0, 40)}`;
}
