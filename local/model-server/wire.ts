import type { Answer } from "./respond.ts";

/** The one model there is. Requests may call it by any name, which is echoed. */
export const MODEL_ID = "rule-based-1";
/** Said wherever a reader might take the answers for a model's. */
export const DISCLOSURE = "rule-based: fixed rules that rank and quote what they are given, not a language model";
const FINGERPRINT = `${MODEL_ID}-not-a-language-model`;

export interface Envelope {
  readonly id: string;
  readonly model: string;
  readonly createdAtS: number;
}

interface WireToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Delta {
  readonly role?: "assistant";
  readonly content?: string | null;
  readonly tool_calls?: readonly (Partial<Omit<WireToolCall, "function">> & {
    readonly index: number;
    readonly function: { readonly name?: string; readonly arguments: string };
  })[];
}

/** The body of an answer that is not streamed. */
export function completion(answer: Answer, envelope: Envelope) {
  const message =
    answer.kind === "text"
      ? { role: "assistant", content: answer.text, refusal: null }
      : { role: "assistant", content: null, refusal: null, tool_calls: toolCalls(answer) };
  return {
    ...head(envelope, "chat.completion"),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer) }],
    usage: answer.usage,
  };
}

/** The chunks of a streamed answer, in order; `[DONE]` is the sender's. */
export function chunks(answer: Answer, envelope: Envelope, includeUsage: boolean) {
  const chunk = (delta: Delta, finish: string | null = null) => ({
    ...head(envelope, "chat.completion.chunk"),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage ? { usage: null } : {}),
  });
  const deltas = answer.kind === "text" ? textDeltas(answer.text) : callDeltas(answer);
  const last = chunk({}, finishReason(answer));
  const usage = { ...head(envelope, "chat.completion.chunk"), choices: [], usage: answer.usage };
  return [...deltas.map((delta) => chunk(delta)), last, ...(includeUsage ? [usage] : [])];
}

export function modelList(createdAtS: number) {
  const model = { id: MODEL_ID, object: "model", created: createdAtS, owned_by: "toren", description: DISCLOSURE };
  return { object: "list", data: [model] };
}

function head({ id, model, createdAtS }: Envelope, object: string) {
  return { id, object, created: createdAtS, model, system_fingerprint: FINGERPRINT };
}

function finishReason(answer: Answer): string {
  return answer.kind === "calls" ? "tool_calls" : answer.finishReason;
}

function toolCalls(answer: Answer & { readonly kind: "calls" }): WireToolCall[] {
  return answer.calls.map(({ id, tool, args }) => ({
    id,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(args) },
  }));
}

/** A few words at a time; joined they are the text, byte for byte. */
function textDeltas(text: string): Delta[] {
  const pieces = text.match(/(?:\S+\s*|\s+){1,6}/g) ?? [];
  return [{ role: "assistant", content: "" }, ...pieces.map((content) => ({ content }))];
}

/** As OpenAI does: each call's id and name first, then its arguments. */
function callDeltas(answer: Answer & { readonly kind: "calls" }): Delta[] {
  const deltas = toolCalls(answer).flatMap(({ id, type, function: { name, arguments: args } }, index): Delta[] => [
    { tool_calls: [{ index, id, type, function: { name, arguments: "" } }] },
    { tool_calls: [{ index, function: { arguments: args } }] },
  ]);
  return [{ role: "assistant", content: null }, ...deltas];
}
