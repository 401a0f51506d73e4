// Answering CloudFormation: a PUT to an address of S3, which it waits for.
import type { CloudFormationCustomResourceEvent } from "aws-lambda";
import { messageOf } from "../shared/core/errors.ts";
import { CLOUDFORMATION_TRIES, CLOUDFORMATION_WAIT_MS } from "../shared/core/limits.ts";
import type { Log } from "../shared/ports/log.ts";
import type { Answer } from "./migrate.ts";

export interface PutDeps {
  readonly log: Log;
  sleep(ms: number): Promise<void>;
}

/** Again and again: in a stack that is just being made, the way out may open only after the function runs. @throws after the last try. */
export async function putAnswer(
  event: CloudFormationCustomResourceEvent,
  answer: Answer,
  deps: PutDeps,
): Promise<void> {
  const { StackId, RequestId, LogicalResourceId } = event;
  const body = JSON.stringify({ ...answer, StackId, RequestId, LogicalResourceId });
  for (let tries = 1; ; tries++) {
    const failure = await put(event.ResponseURL, body);
    if (failure === null) return;
    deps.log.warn("CloudFormation not reached", { tries, error: failure });
    if (tries === CLOUDFORMATION_TRIES) throw new Error(`CloudFormation couldn't be told: ${failure}`);
    await deps.sleep(CLOUDFORMATION_WAIT_MS);
  }
}

/** Null: it has the answer. */
async function put(url: string, body: string): Promise<string | null> {
  try {
    // Its address is signed for an empty content type.
    const answer = await fetch(url, {
      method: "PUT",
      body,
      headers: { "content-type": "" },
      signal: AbortSignal.timeout(10_000),
    });
    return answer.ok ? null : `HTTP ${answer.status}`;
  } catch (e) {
    return messageOf(e);
  }
}
