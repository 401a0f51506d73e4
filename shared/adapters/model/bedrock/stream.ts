// Converse's stream, gathered into one answer. Whoever watches hears text and reasoning as they come.
import type { ContentBlockDelta, ConverseStreamOutput, TokenUsage } from "@aws-sdk/client-bedrock-runtime";
import type { Delta } from "../../../ports/model.ts";
import { type AnswerBlock, servedBy, type WireAnswer } from "./answer.ts";

/** The stream ended before it was whole: a connection that broke in silence. */
export class CutStream extends Error {
  constructor(events: number) {
    super(events === 0 ? "it was empty" : `it broke off after ${events} events`);
    this.name = "CutStream";
  }
}

/** Pieces of one block. Joined once: an answer of twenty megabytes comes in a hundred thousand. */
interface Pieces {
  kind: AnswerBlock["type"];
  id: string;
  name: string;
  readonly text: string[];
  readonly signature: string[];
  readonly redacted: Uint8Array[];
}

export async function gather(
  events: AsyncIterable<ConverseStreamOutput>,
  show: (delta: Delta) => void,
  alive: () => void,
  told: (usage: TokenUsage | undefined) => void,
): Promise<WireAnswer> {
  const blocks = new Map<number, Pieces>();
  const block = (index = 0): Pieces => {
    const known = blocks.get(index);
    if (known !== undefined) return known;
    const made: Pieces = { kind: "text", id: "", name: "", text: [], signature: [], redacted: [] };
    blocks.set(index, made);
    return made;
  };
  let seen = 0;
  let stopReason: string | undefined;
  let usage: TokenUsage | undefined;
  let by: string | undefined;
  try {
    for await (const event of events) {
      alive();
      seen++;
      if (event.contentBlockStart?.start?.toolUse !== undefined) {
        const { toolUseId = "", name = "" } = event.contentBlockStart.start.toolUse;
        Object.assign(block(event.contentBlockStart.contentBlockIndex), { kind: "toolUse", id: toolUseId, name });
      } else if (event.contentBlockDelta?.delta !== undefined)
        take(block(event.contentBlockDelta.contentBlockIndex), event.contentBlockDelta.delta, show);
      else if (event.messageStop !== undefined) stopReason = event.messageStop.stopReason ?? "";
      else if (event.metadata !== undefined) {
        usage = event.metadata.usage;
        told(usage);
        by = servedBy(event.metadata);
      }
    }
  } catch (thrown) {
    if (stopReason === undefined || usage === undefined) throw thrown; // else all of it came, and is paid
  }
  if (stopReason === undefined || usage === undefined) throw new CutStream(seen); // without usage the books would be wrong
  const inOrder = [...blocks].sort(([a], [b]) => a - b);
  return { blocks: inOrder.map(([, pieces]) => whole(pieces)), stopReason, usage, streamed: true, servedBy: by };
}

function take(block: Pieces, delta: ContentBlockDelta, show: (delta: Delta) => void): void {
  if (delta.text !== undefined) {
    block.text.push(delta.text);
    if (delta.text !== "") show({ type: "text", text: delta.text });
  } else if (delta.toolUse !== undefined) {
    block.kind = "toolUse";
    block.text.push(delta.toolUse.input ?? "");
  } else if (delta.reasoningContent !== undefined) {
    block.kind = "reasoning";
    const { text, signature, redactedContent } = delta.reasoningContent;
    if (text !== undefined) block.text.push(text);
    if (signature !== undefined) block.signature.push(signature);
    if (redactedContent !== undefined) block.redacted.push(redactedContent);
    if (text) show({ type: "reasoning", text });
  }
}

function whole({ kind, id, name, text, signature, redacted }: Pieces): AnswerBlock {
  if (kind === "toolUse") return { type: "toolUse", id, name, input: text.join("") };
  if (kind === "text") return { type: "text", text: text.join("") };
  return { type: "reasoning", text: text.join(""), signature: signature.join(""), redacted: Buffer.concat(redacted) };
}
