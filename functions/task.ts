// Queues `tasks-short`, `tasks-long` and `tasks-solo`: the agentic loops, ten at once. On the solo queue, where streams go that keep killing their worker,
// one at a time, and runs too.
import middy from "@middy/core";
import type { SQSBatchResponse } from "aws-lambda";
import type { Circumstances, EngineDeps } from "../shared/engine/deps.ts";
import { runTask } from "../shared/engine/run-task.ts";
import { runTick } from "../shared/engine/run-tick.ts";
import type { Hint } from "../shared/ports/queue.ts";
import { decodeHints, type HintEvent } from "./arrived.ts";
import { logFailure } from "./failures.ts";
import { consume, type SqsHandler } from "./sqs-batch.ts";
import type { TopUp } from "./top-up.ts";

export interface WorkerDeps {
  readonly engine: EngineDeps;
  readonly stop: AbortSignal;
  /** Slots that the handler fills by itself (Lambda); left out: whoever calls it does (the pump). */
  readonly topUp?: TopUp;
}

export function createTaskHandler({ engine, stop, topUp }: WorkerDeps, use = { runTask, runTick }): SqsHandler {
  const work = async (hint: Hint, at: Circumstances) => {
    const { taskId } = hint;
    return taskId === null ? await use.runTick(engine, hint, at) : await use.runTask(engine, { ...hint, taskId }, at);
  };
  const consumer = {
    queue: engine.queue,
    log: engine.log,
    stop,
    work,
    traces: engine.store.traces,
    ...(topUp === undefined ? {} : { topUp }),
  };
  return middy({ timeoutEarlyInMillis: 0 })
    .use(logFailure(engine.log, "task"))
    .use(decodeHints())
    .handler<HintEvent, SQSBatchResponse>((event, context) => consume(consumer, event, context));
}
