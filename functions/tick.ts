// Queue `ticks`: one advance of a run a message. Timers beyond what a queue can delay send here too, early, of runs and tasks alike: those are sent on.
import middy from "@middy/core";
import type { SQSBatchResponse } from "aws-lambda";
import { TorenError } from "../shared/core/errors.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { nudgeAt } from "../shared/engine/hints.ts";
import { runTick } from "../shared/engine/run-tick.ts";
import type { Hint } from "../shared/ports/queue.ts";
import { decodeHints, type HintEvent } from "./arrived.ts";
import { logFailure } from "./failures.ts";
import { consume, type SqsHandler } from "./sqs-batch.ts";

export interface WorkerDeps {
  readonly engine: EngineDeps;
  /** Aborts when the worker is asked to stop; never on Lambda, which says how much time is left instead. */
  readonly stop: AbortSignal;
}

export function createTickHandler({ engine, stop }: WorkerDeps, use = { runTick }): SqsHandler {
  const consumer = {
    queue: engine.queue,
    log: engine.log,
    stop,
    traces: engine.store.traces,
    sendOn: async (hint: Hint, dueAt: number) => await nudgeAt(engine, hint, dueAt, await engine.store.streams.now()),
    work: async (hint: Parameters<typeof runTick>[1], at: Parameters<typeof runTick>[2]) => {
      if (hint.taskId !== null) throw new TorenError("bug", "a task's hint came on the queue of ticks");
      return await use.runTick(engine, hint, at);
    },
  };
  return middy({ timeoutEarlyInMillis: 0 })
    .use(logFailure(engine.log, "tick"))
    .use(decodeHints())
    .handler<HintEvent, SQSBatchResponse>((event, context) => consume(consumer, event, context));
}
