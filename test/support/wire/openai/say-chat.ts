// A reply as /v1/chat/completions gives it: whole, and in chunks. Reasoning is shown where a test's server does so.
import { argumentsOf, itemsOf, newCallId, outputOf, pieces, type Reply, type Spent } from "./reply.ts";
import type { ChatBody } from "./shape-chat.ts";

export interface SaidInChat {
  readonly completion: object;
  readonly chunks: readonly object[];
  readonly spent: Spent;
}

export function sayCompletion(
  body: ChatBody,
  reply: Reply,
  prompt: Pick<Spent, "input" | "cached" | "written">,
  showsReasoning: boolean,
): SaidInChat {
  const items = itemsOf(reply);
  const {
    status = "completed",
    reason,
    usage: odd = {},
    servedBy = body.model,
  } = typeof reply === "string" ? {} : reply;
  const text = items.map((item) => ("text" in item ? item.text : "")).join("");
  const refusal = items.map((item) => ("refusal" in item ? item.refusal : "")).join("");
  const thought = showsReasoning ? items.map((item) => ("reasoning" in item ? item.reasoning : "")).join("") : "";
  const calls = items.flatMap((item) =>
    "tool" in item
      ? [{ id: item.id ?? newCallId(), type: "function", function: { name: item.tool, arguments: argumentsOf(item) } }]
      : [],
  );
  const finish =
    status === "incomplete"
      ? reason === "content_filter"
        ? "content_filter"
        : "length"
      : calls.length > 0
        ? "tool_calls"
        : "stop";
  const spent = { ...prompt, ...outputOf(items) };
  const usage = { ...usageOf(spent), ...odd };
  const head = { id: "chatcmpl-1", created: 1_764_000_000, model: servedBy };
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...(thought === "" ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(body.stream_options?.include_usage ? { usage: null } : {}),
  });
  const deltas = [
    { role: "assistant", content: "" },
    ...pieces(thought).map((reasoning_content) => ({ reasoning_content })),
    ...pieces(text).map((content) => ({ content })),
    ...pieces(refusal).map((piece) => ({ refusal: piece })),
    ...calls.flatMap(({ id, type, function: { name, arguments: json } }, index) => [
      { tool_calls: [{ index, id, type, function: { name, arguments: "" } }] },
      ...pieces(json).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ];
  const last = body.stream_options?.include_usage
    ? [{ ...head, object: "chat.completion.chunk", choices: [], usage }]
    : [];
  return {
    completion: {
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
      usage,
    },
    chunks: [...deltas.map((delta) => chunk(delta)), chunk({}, finish), ...last],
    spent,
  };
}

const usageOf = ({ input, cached, written, output, reasoning }: Spent): object => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  completion_tokens_details: { reasoning_tokens: reasoning },
});
