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
import { type Consumer, consume, type SqsHandler } from "./sqs-batch.ts";
import type { TopUp } from "./top-up.ts";

export interface WorkerDeps {
  readonly engine: EngineDeps;
  readonly stop: AbortSignal;
  /** Slots that the handler fills by itself (Lambda); left out: whoever calls it does (the pump). */
  readonly topUp?: TopUp;
}

const engineWork = { runTask, runTick };

/** What becomes of a message of these queues, whoever received it. */
export function taskConsumer({ engine, stop, topUp }: WorkerDeps, use = engineWork): Consumer {
  const work = async (hint: Hint, at: Circumstances) => {
    const { taskId } = hint;
    return taskId === null ? await use.runTick(engine, hint, at) : await use.runTask(engine, { ...hint, taskId }, at);
  };
  return {
    queue: engine.queue,
    log: engine.log,
    stop,
    work,
    traces: engine.store.traces,
    ...(topUp === undefined ? {} : { topUp }),
  };
}

export function createTaskHandler(deps: WorkerDeps, use = engineWork): SqsHandler {
  const consumer = taskConsumer(deps, use);
  return middy({ timeoutEarlyInMillis: 0 })
    .use(logFailure(deps.engine.log, "task"))
    .use(decodeHints())
    .handler<HintEvent, SQSBatchResponse>((event, context) => consume(consumer, event, context));
}
