import { beforeAll, describe, expect, test } from "@jest/globals";
import { Match, type Template } from "aws-cdk-lib/assertions";
import {
  DEAD_LETTER_RETENTION_MS,
  GUARDIAN_INVOCATION_MS,
  MESSAGE_RETENTION_MS,
  RECEIVES_MAX,
  TASK_INVOCATION_MS,
  TICK_INVOCATION_MS,
} from "../../../shared/core/limits.ts";
import { QUEUE_NAMES } from "../../../shared/ports/queue.ts";
import { templateOf } from "../support.ts";

interface QueueResource {
  readonly Properties: {
    readonly VisibilityTimeout: number;
    readonly MessageRetentionPeriod: number;
    readonly RedrivePolicy?: { readonly deadLetterTargetArn: unknown; readonly maxReceiveCount: number };
  };
}

/** The port's, dead letters and the pulse. */
const ALL = QUEUE_NAMES.length + 2;

const seconds = (ms: number): number => ms / 1_000;

describe("the deployed queues", () => {
  let template: Template;
  let queues: [string, QueueResource][];
  const queue = (part: string): QueueResource => {
    const found = queues.filter(([id]) => id.startsWith(`TorenQueues${part}`));
    expect(found).toHaveLength(1);
    return found[0]?.[1] as QueueResource;
  };
  const idOf = (name: string): string => name.replaceAll("-", "");

  beforeAll(() => {
    template = templateOf();
    queues = Object.entries(template.findResources("AWS::SQS::Queue")) as [string, QueueResource][];
  });

  test("I9: every queue of the port is there, one for dead letters and one for the pulse, all standard ones", () => {
    expect(queues).toHaveLength(ALL);
    for (const name of QUEUE_NAMES) queue(idOf(name));
    template.resourcePropertiesCountIs("AWS::SQS::Queue", { FifoQueue: Match.absent() }, ALL);
  });

  test("names end in the port's, by which handlers know where a message came from", () => {
    for (const name of [...QUEUE_NAMES, "dead-letters", "pulse"])
      template.hasResourceProperties("AWS::SQS::Queue", { QueueName: Match.stringLikeRegexp(`-${name}$`) });
  });

  test("I11: a message is received as often as on a laptop, then goes to the one dead-letter queue", () => {
    const [deadId] = queues.find(([id]) => id.startsWith("TorenQueuesdeadletters")) ?? [];
    for (const name of QUEUE_NAMES) {
      expect(queue(idOf(name)).Properties.RedrivePolicy).toEqual({
        deadLetterTargetArn: { "Fn::GetAtt": [deadId, "Arn"] },
        maxReceiveCount: RECEIVES_MAX,
      });
    }
    expect(queue("deadletters").Properties.RedrivePolicy).toBeUndefined();
  });

  test("a message stays hidden for longer than its reader can run", () => {
    expect(queue("ticks").Properties.VisibilityTimeout).toBeGreaterThan(seconds(TICK_INVOCATION_MS));
    expect(queue("pulse").Properties.VisibilityTimeout).toBeGreaterThan(seconds(GUARDIAN_INVOCATION_MS));
    for (const name of ["tasks-short", "tasks-long", "tasks-solo"])
      expect(queue(idOf(name)).Properties.VisibilityTimeout).toBeGreaterThan(seconds(TASK_INVOCATION_MS));
  });

  test("a dead letter is kept after its queue would have forgotten it", () => {
    expect(queue("ticks").Properties.MessageRetentionPeriod).toBe(seconds(MESSAGE_RETENTION_MS));
    expect(queue("deadletters").Properties.MessageRetentionPeriod).toBe(seconds(DEAD_LETTER_RETENTION_MS));
  });

  test("messages are encrypted at rest and on their way", () => {
    template.resourcePropertiesCountIs("AWS::SQS::Queue", { SqsManagedSseEnabled: true }, ALL);
    template.resourceCountIs("AWS::SQS::QueuePolicy", ALL);
    template.allResourcesProperties("AWS::SQS::QueuePolicy", {
      PolicyDocument: Match.objectLike({
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
        ]),
      }),
    });
  });
});
