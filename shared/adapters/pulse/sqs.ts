// The messages of the pulse: one queue, which feeds the guardian alone.
import type { SQSClient } from "@aws-sdk/client-sqs";
import { messageOf, TorenError } from "../../core/errors.ts";
import { PULSE_MS } from "../../core/limits.ts";
import { CALLS } from "../aws/calls.ts";

/** Sends a beat's message, to come after PULSE_MS. @throws TorenError `queue.unavailable`: the beat is late then, and started anew. */
export function createBeatSender(queueUrl: string): (beat: number) => Promise<void> {
  return async (beat) => {
    const { SQSClient, SendMessageCommand } = await import("@aws-sdk/client-sqs");
    client ??= new SQSClient(CALLS);
    const command = { QueueUrl: queueUrl, MessageBody: JSON.stringify({ beat }), DelaySeconds: PULSE_MS / 1_000 };
    try {
      await client.send(new SendMessageCommand(command));
    } catch (e) {
      throw new TorenError("queue.unavailable", `SQS didn't take the pulse's message: ${messageOf(e)}`, { cause: e });
    }
  };
}

let client: SQSClient | undefined;
