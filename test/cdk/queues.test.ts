import { beforeAll, describe, expect, test } from "@jest/globals";
import { App } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { torenStack } from "../../cdk/app.ts";
import {
  DEAD_LETTER_RETENTION_MS,
  MESSAGE_RETENTION_MS,
  RECEIVES_MAX,
  TASK_INVOCATION_MS,
  TICK_INVOCATION_MS,
} from "../../shared/core/limits.ts";
import { QUEUE_NAMES } from "../../shared/ports/queue.ts";

interface QueueResource {
  readonly Properties: {
    readonly VisibilityTimeout: number;
    readonly MessageRetentionPeriod: number;
    readonly RedrivePolicy?: { readonly deadLetterTargetArn: unknown; readonly maxReceiveCount: number };
  };
}

const seconds = (ms: number): number => ms / 1_000;

describe("the deployed queues", () => {
  let template: Template;
  let queues: [string, QueueResource][];
  const queue = (part: string): QueueResource => {
    const found = queues.filter(([id]) => id.startsWith(`Queues${part}`));
    expect(found).toHaveLength(1);
    return found[0]?.[1] as QueueResource;
  };
  const idOf = (name: string): string => name.replaceAll("-", "");

  beforeAll(() => {
    template = Template.fromStack(torenStack(new App({ context: { "aws:cdk:bundling-stacks": [] } })));
    queues = Object.entries(template.findResources("AWS::SQS::Queue")) as [string, QueueResource][];
  });

  test("I9: every queue of the port is there, and one for dead letters, all standard ones", () => {
    expect(queues).toHaveLength(QUEUE_NAMES.length + 1);
    for (const name of QUEUE_NAMES) queue(idOf(name));
    template.resourcePropertiesCountIs("AWS::SQS::Queue", { FifoQueue: Match.absent() }, QUEUE_NAMES.length + 1);
  });

  test("I11: a message is received as often as on a laptop, then goes to the one dead-letter queue", () => {
    const [deadId] = queues.find(([id]) => id.startsWith("Queuesdeadletters")) ?? [];
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
    for (const name of ["tasks-short", "tasks-long", "tasks-solo"])
      expect(queue(idOf(name)).Properties.VisibilityTimeout).toBeGreaterThan(seconds(TASK_INVOCATION_MS));
  });

  test("a dead letter is kept after its queue would have forgotten it", () => {
    expect(queue("ticks").Properties.MessageRetentionPeriod).toBe(seconds(MESSAGE_RETENTION_MS));
    expect(queue("deadletters").Properties.MessageRetentionPeriod).toBe(seconds(DEAD_LETTER_RETENTION_MS));
  });

  test("messages are encrypted at rest and on their way", () => {
    template.resourcePropertiesCountIs("AWS::SQS::Queue", { SqsManagedSseEnabled: true }, QUEUE_NAMES.length + 1);
    template.resourceCountIs("AWS::SQS::QueuePolicy", QUEUE_NAMES.length + 1);
    template.allResourcesProperties("AWS::SQS::QueuePolicy", {
      PolicyDocument: Match.objectLike({
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
        ]),
      }),
    });
  });
});
