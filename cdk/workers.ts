// The functions that queues and the clock feed: ticks, tasks, dead letters, and the guardian.
import { SqsEventSource, type SqsEventSourceProps } from "aws-cdk-lib/aws-lambda-event-sources";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import {
  GUARDIAN_INVOCATION_MS,
  QUEUE_BATCH_MESSAGES,
  TASK_INVOCATION_MS,
  TASKS_PER_WORKER,
  TICK_INVOCATION_MS,
  TICKS_PER_WORKER,
} from "../shared/core/limits.ts";
import type { ConnectionPlan } from "./connections.ts";
import type { MakeFunction, TorenFunction } from "./functions.ts";
import type { Queues } from "./queues.ts";

export interface WorkersProps {
  readonly queues: Queues;
  readonly plan: ConnectionPlan;
  /** Short tasks are the Fargate workers'. */
  readonly onFargate: boolean;
  readonly make: MakeFunction;
}

/** The least that an event source mapping takes, for what one environment could do. */
const FEW = 2;

export class Workers extends Construct {
  readonly tick: TorenFunction;
  readonly task: TorenFunction;
  readonly guardian: TorenFunction;
  readonly deadLetter: TorenFunction;

  constructor(scope: Construct, id: string, { queues, plan, onFargate, make }: WorkersProps) {
    super(scope, id);
    this.tick = make(this, "tick", {
      description: "Toren: one advance of a run",
      memoryMb: 1_024,
      timeoutMs: TICK_INVOCATION_MS,
      loops: true,
    });
    this.task = make(this, "task", {
      description: "Toren: agentic loops, up to ten at once",
      memoryMb: 1_024,
      timeoutMs: TASK_INVOCATION_MS,
      loops: true,
    });
    this.guardian = make(this, "guardian", {
      description: "Toren: nudges what is stalled or due",
      memoryMb: 256,
      timeoutMs: GUARDIAN_INVOCATION_MS,
      loops: true,
    });
    this.deadLetter = make(this, "dead-letter", {
      description: "Toren: writes down what a queue gave up on",
      memoryMb: 256,
      timeoutMs: GUARDIAN_INVOCATION_MS,
    });
    const { ticks, "tasks-short": short, "tasks-solo": solo } = queues.byName;
    feed(this.tick, ticks, { batchSize: TICKS_PER_WORKER, maxConcurrency: plan.ticksAtOnce });
    if (!onFargate) feed(this.task, short, { batchSize: TASKS_PER_WORKER, maxConcurrency: plan.tasksAtOnce });
    feed(this.task, solo, { batchSize: 1, maxConcurrency: plan.soloAtOnce });
    feed(this.guardian, queues.pulse, { batchSize: 1, maxConcurrency: FEW });
    feed(this.deadLetter, queues.deadLetters, { batchSize: QUEUE_BATCH_MESSAGES, maxConcurrency: FEW });
  }
}

/** What failed is named in the answer; the rest of the batch stays deleted. */
function feed({ fn }: TorenFunction, queue: Queue, settings: SqsEventSourceProps): void {
  fn.addEventSource(new SqsEventSource(queue, { reportBatchItemFailures: true, ...settings }));
}
