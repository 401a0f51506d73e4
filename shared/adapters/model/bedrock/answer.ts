// What Converse answered, whole or from its stream, in our words.
import type {
  ContentBlock,
  ConverseCommandOutput,
  ConverseStreamMetadataEvent,
  TokenUsage,
} from "@aws-sdk/client-bedrock-runtime";
import { canonical, toJson } from "../../../core/json.ts";
import type { AssistantPart, ModelResponse, StopReason, ToolUsePart, Usage } from "../../../core/messages.ts";
import { type Origin, opaque } from "./reasoning.ts";
import { baseId } from "./traits.ts";

/** One block of an answer as it came: arguments of tools are text until the block is whole. */
export type AnswerBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "toolUse"; readonly id: string; readonly name: string; readonly input: string }
  | { readonly type: "reasoning"; readonly text: string; readonly signature: string; readonly redacted: Uint8Array };

export interface WireAnswer {
  readonly blocks: readonly AnswerBlock[];
  readonly stopReason: string;
  readonly usage: TokenUsage;
  readonly streamed: boolean;
  readonly servedBy: string | undefined;
}

/** Ended by a fault of the model's writing: asked again it usually comes right. */
export const MALFORMED = new Set(["malformed_model_output", "malformed_tool_use"]);

export function responseOf(answer: WireAnswer, origin: Origin): ModelResponse {
  const content = answer.blocks.flatMap((block) => part(block, origin));
  return {
    content,
    stopReason: stopOf(answer.stopReason, content),
    usage: usageOf(answer, answer.streamed, origin.model),
    rawUsage: toJson(answer.usage),
    ...(answer.servedBy === undefined ? {} : { servedBy: answer.servedBy }),
  };
}

function part(block: AnswerBlock, origin: Origin): AssistantPart[] {
  if (block.type === "text") return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }]; // c7
  if (block.type === "toolUse") return [toolUse(block.id, block.name, block.input)];
  const { text, signature, redacted } = block;
  if (redacted.byteLength > 0) return [opaque(origin, { redacted: Buffer.from(redacted).toString("base64") })];
  return text === "" && signature === "" ? [] : [opaque(origin, { text, ...(signature === "" ? {} : { signature }) })];
}

/** Arguments are an object; nothing at all is an empty one. Anything else the model is told about. */
function toolUse(id: string, name: string, input: string): ToolUsePart {
  try {
    const args = input.trim() === "" ? {} : toJson(JSON.parse(input));
    if (typeof args === "object" && args !== null && !Array.isArray(args)) return { type: "toolUse", id, name, args };
  } catch {
    // not JSON, or nested too deeply
  }
  return { type: "toolUse", id, name, args: {}, malformed: input };
}

const STOPS: Readonly<Record<string, StopReason>> = {
  max_tokens: "maxTokens",
  guardrail_intervened: "refusal",
  content_filtered: "refusal",
  refusal: "refusal",
  model_context_window_exceeded: "contextExceeded",
  pause_turn: "pause",
};

/** Where the model simply ended, the calls decide: not every model names them. */
function stopOf(reason: string, content: readonly AssistantPart[]): StopReason {
  return STOPS[reason] ?? (content.some(({ type }) => type === "toolUse") ? "toolUse" : "end");
}

/**
 * `inputTokens` is what no cache served (the user guide: input = inputTokens + cacheReadInputTokens + cacheWriteInputTokens). But for the stream of
 * OpenAI's models, which counts all of it again there (measured by others on gpt-5.6; whole answers of the same model don't).
 */
export function usageOf({ usage }: { readonly usage: TokenUsage }, streamed: boolean, model: string): Usage {
  const cacheRead = count(usage.cacheReadInputTokens);
  const cacheWrite = count(usage.cacheWriteInputTokens);
  const all = count(usage.inputTokens);
  const countedTwice = streamed && baseId(model).startsWith("openai.") && all >= cacheRead + cacheWrite;
  return {
    input: countedTwice ? all - cacheRead - cacheWrite : all,
    cacheRead,
    cacheWrite,
    output: count(usage.outputTokens),
    reasoning: 0, // part of the output, and not told apart
  };
}

const count = (tokens: unknown): number => {
  const whole = Math.trunc(Number(tokens ?? 0));
  return Number.isSafeInteger(whole) && whole > 0 ? whole : 0;
};

/** Of a whole answer. Null: it isn't one. */
export function wholeAnswer(output: ConverseCommandOutput): WireAnswer | null {
  const { stopReason, usage } = output;
  const content = output.output?.message?.content;
  if (!Array.isArray(content) || stopReason === undefined || usage === undefined) return null;
  return { blocks: content.flatMap(wholeBlock), stopReason, usage, streamed: false, servedBy: servedBy(output) };
}

function wholeBlock(block: ContentBlock): AnswerBlock[] {
  if (block.text !== undefined) return [{ type: "text", text: block.text }];
  if (block.citationsContent !== undefined)
    return (block.citationsContent.content ?? []).map(({ text = "" }) => ({ type: "text", text }));
  if (block.toolUse !== undefined) {
    const { toolUseId = "", name = "", input } = block.toolUse;
    return [{ type: "toolUse", id: toolUseId, name, input: canonical(toJson(input ?? {})) }];
  }
  if (block.reasoningContent === undefined) return [];
  const { reasoningText, redactedContent = new Uint8Array() } = block.reasoningContent;
  const { text = "", signature = "" } = reasoningText ?? {};
  return [{ type: "reasoning", text, signature, redacted: redactedContent }];
}

/** A prompt router chooses the model; otherwise Converse doesn't say who answered. */
export const servedBy = ({ trace }: Pick<ConverseStreamMetadataEvent, "trace">): string | undefined =>
  trace?.promptRouter?.invokedModelId;
