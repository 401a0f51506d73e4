// A reply as /v1/responses gives it: the response object, and the events that it is streamed as. What was issued is remembered.
import { encryptedContent, type Memory } from "./memory.ts";
import { argumentsOf, itemsOf, newCallId, outputOf, pieces, type Reply, type ReplyItem, type Spent } from "./reply.ts";
import type { ResponsesBody } from "./shape-responses.ts";
import { traitsOf } from "./traits.ts";

export interface SentEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}
type Item = { readonly type: string; readonly id: string; readonly [key: string]: unknown };

export interface Said {
  readonly id: string;
  /** As it is at the end. */
  readonly response: object;
  /** As it is at the beginning. */
  readonly open: object;
  readonly events: readonly SentEvent[];
  readonly spent: Spent;
}

export function sayResponse(
  body: ResponsesBody,
  reply: Reply,
  prompt: Pick<Spent, "input" | "cached" | "written">,
  memory: Memory,
): Said {
  const id = memory.newId("resp");
  const items = itemsOf(reply).map((item) => itemOf(item, body, memory));
  issue(items, body, memory);
  const {
    status = "completed",
    reason,
    error,
    usage = {},
    servedBy = body.model,
  } = typeof reply === "string" ? {} : reply;
  const spent = { ...prompt, ...outputOf(itemsOf(reply)) };
  const head = {
    id,
    object: "response",
    created_at: 1_764_000_000,
    model: servedBy,
    store: body.store,
    background: body.background ?? false,
  };
  const open = {
    ...head,
    status: body.background ? "queued" : "in_progress",
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  };
  const response = {
    ...head,
    status,
    error: status === "failed" ? (error ?? { code: "server_error", message: "The server had an error." }) : null,
    incomplete_details: status === "incomplete" ? { reason: reason ?? "max_output_tokens" } : null,
    output: items,
    usage: { ...usageOf(spent), ...usage },
  };
  return { id, response, open, events: eventsOf(items, open, response, status), spent };
}

const usageOf = ({ input, cached, written, output, reasoning }: Spent): object => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});

function itemOf(item: ReplyItem, { model, store, include = [], reasoning }: ResponsesBody, memory: Memory): Item {
  if ("tool" in item) {
    const call_id = item.id ?? newCallId();
    return {
      type: "function_call",
      id: memory.newId("fc"),
      status: "completed",
      name: item.tool,
      call_id,
      arguments: argumentsOf(item),
    };
  }
  if ("reasoning" in item) {
    const id = memory.newId("rs");
    const texts = item.summary ?? (reasoning?.summary === undefined ? [] : [`About: ${item.reasoning}`]);
    const summary = texts.map((text) => ({ type: "summary_text", text }));
    const asked = !store && include.includes("reasoning.encrypted_content");
    return {
      type: "reasoning",
      id,
      summary,
      ...(asked ? { encrypted_content: encryptedContent(model, id, item.reasoning) } : {}),
    };
  }
  if ("search" in item)
    return {
      type: "web_search_call",
      id: memory.newId("ws"),
      status: "completed",
      action: { type: "search", query: item.search },
    };
  const content =
    "refusal" in item
      ? { type: "refusal", refusal: item.refusal }
      : { type: "output_text", text: item.text, annotations: [], logprobs: [] };
  const phase = "text" in item && traitsOf(model).phases ? { phase: item.phase ?? "final_answer" } : {};
  return {
    type: "message",
    id: memory.newId("msg"),
    status: "completed",
    role: "assistant",
    content: [content],
    ...phase,
  };
}

/** From here on they are known, with what each needs beside it. */
function issue(items: readonly Item[], { model, store }: ResponsesBody, memory: Memory): void {
  for (const [i, item] of items.entries()) {
    const before = items[i - 1];
    memory.items.set(item.id, {
      id: item.id,
      type: item.type,
      model,
      encrypted: (item.encrypted_content as string | undefined) ?? null,
      summary: JSON.stringify(item.summary ?? []),
      next: items[i + 1]?.id ?? null,
      requires: before?.type === "reasoning" ? before.id : null,
      stored: store,
    });
  }
}

function eventsOf(items: readonly Item[], open: object, response: object, status: string): SentEvent[] {
  const running = { ...open, status: "in_progress" };
  return [
    { type: "response.created", response: open },
    { type: "response.in_progress", response: running },
    { type: "keepalive" },
    ...items.flatMap(itemEvents),
    { type: `response.${status}`, response },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

function itemEvents(item: Item, output_index: number): SentEvent[] {
  const at = { item_id: item.id, output_index };
  // Its encrypted content is whole only when it is done
  const begun = {
    ...item,
    status: "in_progress",
    ...("encrypted_content" in item ? { encrypted_content: "gAAAAunfinished" } : {}),
  };
  return [
    { type: "response.output_item.added", output_index, item: begun },
    ...insideEvents(item, at),
    { type: "response.output_item.done", output_index, item },
  ];
}

function insideEvents(item: Item, at: object): SentEvent[] {
  if (item.type === "function_call") {
    const text = item.arguments as string;
    return [
      ...pieces(text).map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta })),
      { type: "response.function_call_arguments.done", ...at, arguments: text },
    ];
  }
  if (item.type === "reasoning")
    return (item.summary as readonly { readonly text: string }[]).flatMap(({ text }, summary_index) => [
      { type: "response.reasoning_summary_part.added", ...at, summary_index, part: { type: "summary_text", text: "" } },
      ...pieces(text).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...at, summary_index, delta })),
      { type: "response.reasoning_summary_text.done", ...at, summary_index, text },
    ]);
  if (item.type !== "message") return [];
  const [part] = item.content as readonly {
    readonly type: string;
    readonly text?: string;
    readonly refusal?: string;
  }[];
  const kind = part?.type === "refusal" ? "refusal" : "output_text";
  const text = part?.text ?? part?.refusal ?? "";
  const index = { ...at, content_index: 0 };
  return [
    { type: "response.content_part.added", ...index, part: { type: kind, text: "" } },
    ...pieces(text).map((delta) => ({ type: `response.${kind}.delta`, ...index, delta })),
    { type: `response.${kind}.done`, ...index, text },
    { type: "response.content_part.done", ...index, part },
  ];
}
