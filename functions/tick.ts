// Queue `ticks`: one advance of a run a message.
import middy from "@middy/core";
import type { SQSBatchResponse } from "aws-lambda";
import { TorenError } from "../shared/core/errors.ts";
import type { EngineDeps } from "../shared/engine/deps.ts";
import { runTick } from "../shared/engine/run-tick.ts";
import { consume, decodeHints, type HintEvent, logFailure, type SqsHandler } from "./sqs-batch.ts";

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
