// A dead letter's hint, sent again: once more a hint, to the queue that it died in. The letter goes when the hint is on its way; twice is harmless (I9).
import type { ErrorInfo } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { DeadLetters, Hint, KeptLetter, Queue } from "../ports/queue.ts";
import type { Told } from "./cancel-run.ts";

const AGENT = /^[a-z][a-z0-9_]{0,40}$/;
const RUN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TASK = /^w\d+t\d+$/;

/** Null: it names no stream. What else is in it was of its moment (a trace, a due time). */
function hintIn(body: KeptLetter["body"]): Hint | null {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return null;
  const { agent, runId, taskId } = body as JsonObject;
  if (typeof agent !== "string" || !AGENT.test(agent) || typeof runId !== "string" || !RUN.test(runId)) return null;
  if (taskId === null) return { agent, runId, taskId };
  return typeof taskId === "string" && TASK.test(taskId) ? { agent, runId, taskId } : null;
}

const refused = (code: ErrorInfo["code"], message: string): Told => ({ type: "refused", error: { code, message } });

export async function sendAgain(
  { deadLetters, queue }: { readonly deadLetters: DeadLetters; readonly queue: Pick<Queue, "send"> },
  messageId: string,
): Promise<Told> {
  const letter = await deadLetters.get(messageId);
  if (letter === null) return unknownLetter(messageId);
  const wanted = hintIn(letter.body);
  if (wanted === null)
    return refused(
      "dead_letter.unreadable",
      `The body of ${messageId} names no agent, run and task, so nobody could work on it again. Drop it.`,
    );
  await queue.send([{ queue: letter.queue, hint: wanted, dedupeKey: `${wanted.runId}-${wanted.taskId ?? "run"}` }]);
  await deadLetters.drop(messageId);
  return { type: "told" };
}

export const unknownLetter = (messageId: string): Told & { type: "refused" } => ({
  type: "refused",
  error: {
    code: "dead_letter.unknown",
    message: `There is no dead letter "${messageId.slice(0, 100).toWellFormed()}" here.`,
  },
});
