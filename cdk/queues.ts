// The queues: three kinds of work on tasks, ticks, and one dead-letter queue for all. Messages are hints that carry ids only (I9), so standard queues
// are enough: what is lost, doubled or reordered here changes no run's end. The guardian's pulse has a queue of its own.
import { Duration, Names } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import {
  DEAD_LETTER_RETENTION_MS,
  GUARDIAN_INVOCATION_MS,
  MESSAGE_RETENTION_MS,
  RECEIVES_MAX,
  TASK_INVOCATION_MS,
  TICK_INVOCATION_MS,
  VISIBILITY_MARGIN_MS,
} from "../shared/core/limits.ts";
import { QUEUE_NAMES, type QueueName } from "../shared/ports/queue.ts";
import { acknowledge } from "./findings.ts";

/** How long one invocation, or one worker's turn, works on a message of each queue at most. */
const WORK_MS: Readonly<Record<QueueName, number>> = {
  ticks: TICK_INVOCATION_MS,
  "tasks-short": TASK_INVOCATION_MS,
  // A worker without Lambda's time limit deletes the message when its task settles, and prolongs it meanwhile.
  "tasks-long": TASK_INVOCATION_MS,
  "tasks-solo": TASK_INVOCATION_MS,
};
/** A beat that nobody took for so long is worth nothing: the minute's schedule has started another. */
const PULSE_RETENTION = Duration.minutes(5);
/** SQS names have 80 characters; `-dead-letters` is the longest end. */
const PREFIX_MAX_CHARS = 60;

/**
 * `byName` holds the queues that handlers read and write, `deadLetters` what any of them gave up on after RECEIVES_MAX receives.
 * A message that its reader neither deleted nor released shows up again one margin after the reader's time-out, never before.
 */
export class Queues extends Construct {
  readonly byName: Readonly<Record<QueueName, Queue>>;
  readonly deadLetters: Queue;
  /** Feeds the guardian alone. */
  readonly pulse: Queue;
  private readonly prefix: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    // Names end in ours: handlers tell by them which queue a message came from.
    this.prefix = Names.uniqueResourceName(scope, { maxLength: PREFIX_MAX_CHARS, separator: "-" });
    this.deadLetters = this.queue("dead-letters", {
      retentionPeriod: Duration.millis(DEAD_LETTER_RETENTION_MS),
      visibilityTimeout: Duration.millis(TICK_INVOCATION_MS + VISIBILITY_MARGIN_MS),
    });
    const queues = QUEUE_NAMES.map((name) => [name, this.workQueue(name)] as const);
    this.byName = Object.fromEntries(queues) as Record<QueueName, Queue>;
    this.pulse = this.queue("pulse", {
      retentionPeriod: PULSE_RETENTION,
      visibilityTimeout: Duration.millis(GUARDIAN_INVOCATION_MS + VISIBILITY_MARGIN_MS),
    });
    acknowledge(this.pulse, { "AwsSolutions-SQS3": "A beat that failed is worth nothing, so it is kept nowhere." });
  }

  /** What functions are told. */
  environment(): Record<string, string> {
    return {
      TOREN_QUEUE_TICKS_URL: this.byName.ticks.queueUrl,
      TOREN_QUEUE_TASKS_SHORT_URL: this.byName["tasks-short"].queueUrl,
      TOREN_QUEUE_TASKS_LONG_URL: this.byName["tasks-long"].queueUrl,
      TOREN_QUEUE_TASKS_SOLO_URL: this.byName["tasks-solo"].queueUrl,
      TOREN_QUEUE_DEAD_URL: this.deadLetters.queueUrl,
      TOREN_QUEUE_PULSE_URL: this.pulse.queueUrl,
    };
  }

  private workQueue(name: QueueName): Queue {
    return this.queue(name, {
      retentionPeriod: Duration.millis(MESSAGE_RETENTION_MS),
      visibilityTimeout: Duration.millis(WORK_MS[name] + VISIBILITY_MARGIN_MS),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: RECEIVES_MAX },
    });
  }

  private queue(name: string, settings: QueueSettings): Queue {
    return new Queue(this, name, {
      queueName: `${this.prefix}-${name}`,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      ...settings,
    });
  }
}

interface QueueSettings {
  readonly retentionPeriod: Duration;
  readonly visibilityTimeout: Duration;
  readonly deadLetterQueue?: { readonly queue: Queue; readonly maxReceiveCount: number };
}
