// What the server's model says, and how Converse puts it on the wire, whole and in a stream.
import { eventMessage } from "./event-stream.ts";
import { redactedOf, signatureOf } from "./signature.ts";

export type AnswerBlock =
  | { readonly text: string }
  /** `raw` is sent as it is where arguments should be: half a JSON, or no object. */
  | {
      readonly toolUse: {
        readonly name: string;
        readonly input?: object;
        readonly raw?: string;
        readonly toolUseId?: string;
      };
    }
  /** Signed as this model's, unless it is said to be unsigned. */
  | { readonly reasoning: string; readonly unsigned?: true }
  /** Reasoning that nobody can read. */
  | { readonly redacted: string };

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cacheReadInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
}

export interface Answer {
  readonly content: readonly AnswerBlock[];
  readonly stopReason?: string;
  /** Left out: counted (usage.ts). */
  readonly usage?: TokenUsage;
  readonly trace?: object;
}

const CHUNK_CHARS = 24;

export const stopReasonOf = ({ content, stopReason }: Answer): string =>
  stopReason ?? (content.some((block) => "toolUse" in block) ? "tool_use" : "end_turn");

/** Everything that the model wrote, for counting. */
export const writtenBy = ({ content }: Answer): string =>
  content
    .map((block) =>
      "toolUse" in block ? block.toolUse.name + inputText(block.toolUse) : Object.values(block).join(""),
    )
    .join("");

const inputText = ({ input = {}, raw }: { readonly input?: object; readonly raw?: string }): string =>
  raw ?? JSON.stringify(input);

/** Who signs reasoning, and after what. */
export interface Signer {
  readonly modelId: string;
  readonly prefix: string;
}
type ToolUseIds = (given: string | undefined) => string;

export function wholeBody(answer: Answer, by: Signer, usage: TokenUsage, ids: ToolUseIds): object {
  const content = answer.content.map((block) => {
    if ("text" in block) return block;
    if ("toolUse" in block) {
      const { name, toolUseId, input = {}, raw } = block.toolUse;
      return { toolUse: { toolUseId: ids(toolUseId), name, input: raw === undefined ? input : raw } };
    }
    return { reasoningContent: reasoningOf(block, by) };
  });
  return {
    output: { message: { role: "assistant", content } },
    stopReason: stopReasonOf(answer),
    usage,
    metrics: { latencyMs: 1 },
    ...(answer.trace === undefined ? {} : { trace: answer.trace }),
  };
}

function reasoningOf(block: Extract<AnswerBlock, { reasoning: string } | { redacted: string }>, by: Signer): object {
  if ("redacted" in block) return { redactedContent: redactedOf(by.modelId, block.redacted, by.prefix) };
  const signature = block.unsigned ? {} : { signature: signatureOf(by.modelId, block.reasoning, by.prefix) };
  return { reasoningText: { text: block.reasoning, ...signature } };
}

/** The messages of the stream, one after the other. Text blocks have no start of their own. */
export function* streamMessages(answer: Answer, by: Signer, usage: TokenUsage, ids: ToolUseIds): Generator<Buffer> {
  yield eventMessage("messageStart", { role: "assistant", p: "abcdefghij" });
  for (const [contentBlockIndex, block] of answer.content.entries()) {
    if ("toolUse" in block) {
      const { name, toolUseId } = block.toolUse;
      yield eventMessage("contentBlockStart", {
        start: { toolUse: { toolUseId: ids(toolUseId), name } },
        contentBlockIndex,
      });
    }
    for (const delta of deltas(block, by))
      yield eventMessage("contentBlockDelta", { delta, contentBlockIndex, p: "abc" });
    yield eventMessage("contentBlockStop", { contentBlockIndex });
  }
  yield eventMessage("messageStop", { stopReason: stopReasonOf(answer) });
  const trace = answer.trace === undefined ? {} : { trace: answer.trace };
  yield eventMessage("metadata", { usage, metrics: { latencyMs: 1 }, ...trace });
}

function* deltas(block: AnswerBlock, by: Signer): Generator<object> {
  if ("text" in block) for (const text of chunks(block.text)) yield { text };
  else if ("toolUse" in block) for (const input of chunks(inputText(block.toolUse))) yield { toolUse: { input } };
  else if ("redacted" in block)
    yield { reasoningContent: { redactedContent: redactedOf(by.modelId, block.redacted, by.prefix) } };
  else {
    for (const text of chunks(block.reasoning)) yield { reasoningContent: { text } };
    if (!block.unsigned) yield { reasoningContent: { signature: signatureOf(by.modelId, block.reasoning, by.prefix) } };
  }
}

/** Never through a character; a long text in larger pieces. */
function* chunks(text: string): Generator<string> {
  const size = Math.max(CHUNK_CHARS, Math.ceil(text.length / 2_000));
  for (let at = 0; at < text.length; ) {
    const end = at + size;
    const splits = end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1] ?? "");
    yield text.slice(at, splits ? end + 1 : end);
    at = splits ? end + 1 : end;
  }
}
