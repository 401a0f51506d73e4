// A streamed answer, put together. Streams are what the provider gives for long answers; who asked gets one whole answer, or none.
import { canonical, type Json, type JsonObject, toJson } from "../../../core/json.ts";
import type { AssistantPart, ModelResponse, StopReason, ToolUsePart, Usage } from "../../../core/messages.ts";
import type { Delta } from "../../../ports/model.ts";
import { originPart, PROVIDER } from "./origin.ts";

/** An event of the stream, as far as it is looked at: new members and new kinds of events may come at any time. */
interface StreamEvent {
  readonly type?: unknown;
  readonly index?: unknown;
  readonly message?: Json;
  readonly content_block?: Json;
  readonly delta?: Json;
  readonly usage?: Json;
}

interface OpenBlock {
  fields: Record<string, Json>;
  /** Of a call's arguments, as they come in. */
  json: string;
  closed: boolean;
}

export interface Answer {
  /** Takes an event; what a watcher may see of it comes back. */
  take(event: StreamEvent): Delta | null;
  /** As far as it was told; null: nothing came yet. */
  used(): Usage | null;
  /** Null: the stream ended before the answer did. */
  response(origin: { readonly model: string; readonly prefix: string }): ModelResponse | null;
}

export function createAnswer(): Answer {
  const blocks = new Map<number, OpenBlock>();
  let started = false;
  let model: string | null = null;
  let stopReason: Json = null;
  let refusal: string | null = null;
  let usage: Record<string, Json> = {};

  const tell = (given: Json | undefined): void => {
    for (const [name, count] of Object.entries(objectOf(given)))
      if (count !== null) usage = { ...usage, [name]: count }; // cumulative
  };

  const messageStarted = (message: JsonObject): null => {
    started = true;
    model = typeof message.model === "string" ? message.model : null;
    tell(message.usage);
    return null;
  };

  const messageChanged = (delta: JsonObject, given: Json | undefined): null => {
    stopReason = delta.stop_reason ?? stopReason;
    const { explanation } = objectOf(delta.stop_details);
    if (typeof explanation === "string") refusal = explanation;
    tell(given);
    return null;
  };

  return {
    take: (event) => {
      const index = Number(event.index);
      const block = blocks.get(index);
      switch (event.type) {
        case "message_start":
          return messageStarted(objectOf(event.message));
        case "content_block_start":
          blocks.set(index, { fields: { ...objectOf(event.content_block) }, json: "", closed: false });
          return null;
        case "content_block_delta":
          return block === undefined ? null : grown(block, objectOf(event.delta));
        case "content_block_stop":
          if (block !== undefined) block.closed = true;
          return null;
        case "message_delta":
          return messageChanged(objectOf(event.delta), event.usage);
        default:
          return null;
      }
    },
    used: () => (started ? usageOf(usage) : null),
    response: (origin) => {
      const whole = [...blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
      if (!started || stopReason === null || whole.some((block) => !block.closed)) return null;
      const content = whole.flatMap((block) => partOf(block));
      const thought = content.some(({ type }) => type === "opaque");
      if (stopReason === "refusal" && refusal !== null && !content.some(({ type }) => type === "text"))
        content.push({ type: "text", text: refusal });
      return {
        content: thought ? [originPart(origin), ...content] : content,
        stopReason: stopOf(stopReason, content),
        usage: usageOf(usage),
        rawUsage: toJson(usage),
        ...(model === null ? {} : { servedBy: model }),
      };
    },
  };
}

function grown(block: OpenBlock, delta: JsonObject): Delta | null {
  const add = (field: string, more: Json | undefined): string => {
    const text = typeof more === "string" ? more : "";
    block.fields[field] = `${typeof block.fields[field] === "string" ? block.fields[field] : ""}${text}`;
    return text;
  };
  switch (delta.type) {
    case "text_delta":
      return { type: "text", text: add("text", delta.text) };
    case "thinking_delta":
      return { type: "reasoning", text: add("thinking", delta.thinking) };
    case "signature_delta":
      add("signature", delta.signature);
      return null;
    case "input_json_delta":
      block.json += typeof delta.partial_json === "string" ? delta.partial_json : "";
      return null;
    default:
      return null; // citations: the text says what it says without them
  }
}

function partOf({ fields, json }: OpenBlock): AssistantPart[] {
  const { type, id, name, text, input } = fields;
  if (type === "text") return typeof text === "string" && text !== "" ? [{ type: "text", text }] : []; // c7
  if (type === "tool_use") return [toolUse(String(id ?? ""), String(name ?? ""), json, input ?? null)];
  const parsed = json === "" ? null : parse(json); // a server tool's own call
  return [
    { type: "opaque", provider: PROVIDER, data: toJson(parsed === null ? fields : { ...fields, input: parsed }) },
  ];
}

/** Arguments are an object; the model is told of anything else. A stream gives them piece by piece, some servers whole. */
function toolUse(id: string, name: string, json: string, input: Json): ToolUsePart {
  const args = json.trim() === "" ? (input ?? {}) : parse(json);
  if (args !== null && typeof args === "object" && !Array.isArray(args))
    return { type: "toolUse", id, name, args: toJson(args) };
  return { type: "toolUse", id, name, args: {}, malformed: json === "" ? canonical(input) : json };
}

function parse(json: string): Json {
  try {
    return toJson(JSON.parse(json));
  } catch {
    return null; // not JSON, or nested too deeply
  }
}

/** The calls decide: a server that says `end_turn` beside them wants them run. */
function stopOf(reason: Json, content: readonly AssistantPart[]): StopReason {
  switch (reason) {
    case "max_tokens":
      return "maxTokens";
    case "refusal":
      return "refusal";
    case "pause_turn":
      return "pause";
    case "model_context_window_exceeded":
      return "contextExceeded";
    default:
      return content.some(({ type }) => type === "toolUse") ? "toolUse" : "end";
  }
}

function usageOf(usage: JsonObject): Usage {
  const count = (value: Json | undefined): number => {
    const tokens = Math.trunc(Number(value ?? 0));
    return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
  };
  const output = count(usage.output_tokens);
  return {
    input: count(usage.input_tokens), // what no cache served, already
    cacheRead: count(usage.cache_read_input_tokens),
    cacheWrite: count(usage.cache_creation_input_tokens),
    output,
    reasoning: Math.min(output, count(objectOf(usage.output_tokens_details).thinking_tokens)),
  };
}

const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
