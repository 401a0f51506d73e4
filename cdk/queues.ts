// The queues: three kinds of work on tasks, ticks, and one dead-letter queue for all. Messages are hints that carry ids only (I9), so standard queues
// are enough: what is lost, doubled or reordered here changes no run's end.
import { CfnOutput, Duration } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import {
  DEAD_LETTER_RETENTION_MS,
  MESSAGE_RETENTION_MS,
  RECEIVES_MAX,
  TASK_INVOCATION_MS,
  TICK_INVOCATION_MS,
  VISIBILITY_MARGIN_MS,
} from "../shared/core/limits.ts";
import { QUEUE_NAMES, type QueueName } from "../shared/ports/queue.ts";

/** How long one invocation, or one worker's turn, works on a message of each queue at most. */
const WORK_MS: Readonly<Record<QueueName, number>> = {
  ticks: TICK_INVOCATION_MS,
  "tasks-short": TASK_INVOCATION_MS,
  // A worker without Lambda's time limit deletes the message when its task settles, and prolongs it meanwhile.
  "tasks-long": TASK_INVOCATION_MS,
  "tasks-solo": TASK_INVOCATION_MS,
};

/**
 * `byName` holds the queues that handlers read and write, `deadLetters` what any of them gave up on after RECEIVES_MAX receives.
 * A message that its reader neither deleted nor released shows up again one margin after the reader's time-out, never before.
 */
export class Queues extends Construct {
  readonly byName: Readonly<Record<QueueName, Queue>>;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.deadLetters = new Queue(this, "dead-letters", {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.millis(DEAD_LETTER_RETENTION_MS),
      visibilityTimeout: Duration.millis(TICK_INVOCATION_MS + VISIBILITY_MARGIN_MS),
    });
    const queues = QUEUE_NAMES.map((name) => [name, this.workQueue(name)] as const);
    this.byName = Object.fromEntries(queues) as Record<QueueName, Queue>;
    for (const [name, queue] of [...queues, ["dead-letters", this.deadLetters] as const])
      new CfnOutput(this, `${name}-url`, { value: queue.queueUrl });
  }

  private workQueue(name: QueueName): Queue {
    return new Queue(this, name, {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.millis(MESSAGE_RETENTION_MS),
      visibilityTimeout: Duration.millis(WORK_MS[name] + VISIBILITY_MARGIN_MS),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: RECEIVES_MAX },
    });
  }
}
