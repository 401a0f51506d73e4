// What GET /runs/{runId}/tasks/{taskId}/calls/{seq} answers with. Of two requests that follow one another nearly all messages are the same: those come once.
import * as z from "zod";
import { jsonBytes } from "../core/json.ts";
import { CALL_MESSAGES_BYTES } from "../core/limits.ts";
import { json, type Message, type ModelRequest } from "../core/messages.ts";
import type { AskedRequest, CallView } from "../engine/read-call.ts";

const count = z.int().nonnegative();
const text = z.string();
const message = z.object({ role: z.enum(["user", "assistant"]), content: z.array(z.record(z.string(), json)) });
const request = z.object({
  model: text,
  system: text,
  tools: z.array(z.object({ name: text, description: text, inputSchema: json })),
  options: json.meta({ description: "They go to the provider as they are." }),
  maxTokens: count,
  outputSchema: json.nullable(),
  messages: z.array(message),
  omitted: count.meta({ description: "Of its messages, how many were left out for their size: the first ones." }),
});
const asked = {
  seq: count.meta({ description: "Of its event LlmCallStarted in the task's stream." }),
  stepId: text,
  purpose: z.enum(["step", "summary"]),
  digest: text,
  askedAt: z.string().meta({ format: "date-time" }),
  exact: z
    .boolean()
    .meta({ description: "The request's digest is the one on record: to the last character it is what was sent." }),
};

export const call = z.object({
  ...asked,
  request: request.nullable().meta({
    description: "Null: it can't be derived any more, since what it began with wasn't kept.",
  }),
  previous: z
    .object({
      ...asked,
      request: request.nullable(),
      shared: count.meta({ description: "How many messages both begin with: these are left out here." }),
    })
    .nullable()
    .meta({ description: "The question before that was another one: of the step before, or one that was cut." }),
});
export type CallJson = z.infer<typeof call>;
export type RequestJson = z.infer<typeof request>;

export function callJson({ previous, ...own }: CallView): CallJson {
  const messages = own.request?.messages ?? [];
  const before = previous?.request?.messages ?? [];
  const shared = sharedMessages(messages, before);
  return {
    ...askedJson(own),
    request: own.request && requestJson(own.request, messages),
    previous: previous && {
      ...askedJson(previous),
      request: previous.request && requestJson(previous.request, before.slice(shared)),
      shared,
    },
  };
}

const askedJson = ({ seq, stepId, purpose, digest, askedAt, exact }: AskedRequest) => ({
  seq,
  stepId,
  purpose,
  digest,
  askedAt: new Date(askedAt).toISOString(),
  exact,
});

function requestJson(r: ModelRequest, messages: readonly Message[]): RequestJson {
  const kept = fitting(messages);
  return {
    model: r.model,
    system: r.system,
    tools: [...r.tools],
    options: r.options,
    maxTokens: r.maxTokens,
    outputSchema: r.outputSchema ?? null,
    messages: messages.slice(messages.length - kept) as unknown as RequestJson["messages"],
    omitted: messages.length - kept,
  };
}

/** How many of them, from the end, an answer may hold: one at least. */
function fitting(messages: readonly Message[]): number {
  let bytes = 0;
  for (let kept = 0; kept < messages.length; kept++) {
    bytes += jsonBytes(messages.at(-1 - kept) as never);
    if (bytes > CALL_MESSAGES_BYTES && kept > 0) return kept;
  }
  return messages.length;
}

function sharedMessages(a: readonly Message[], b: readonly Message[]): number {
  let n = 0;
  while (n < a.length && n < b.length && JSON.stringify(a[n]) === JSON.stringify(b[n])) n++;
  return n;
}
