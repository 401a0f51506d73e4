// A model's reasoning in the log: what Converse gave, the model that wrote it, and a digest of what it was written after. Its maker signed it, so it goes back
// character by character or not at all; and newer models take it only while nothing before it has changed. What changes here is folded history, an edited
// prompt, a file that isn't shown any more (docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.html).
import { createHash, type Hash } from "node:crypto";
import type { ContentBlock, SystemContentBlock, Tool, Message as WireMessage } from "@aws-sdk/client-bedrock-runtime";
import * as z from "zod";
import { canonical, toJson } from "../../../core/json.ts";
import type { AssistantPart } from "../../../core/messages.ts";
import { baseId } from "./traits.ts";

const PROVIDER = "bedrock";

/** Who wrote reasoning, and after what. */
export interface Origin {
  /** An id as `traitsOf` takes it. */
  readonly model: string;
  readonly prefix: string;
}

const recorded = z.strictObject({
  /** The foundation model's id, of whatever region; an ARN that names none, as it is. */
  model: z.string(),
  prefix: z.string(),
  text: z.string().optional(),
  signature: z.string().optional(),
  /** Bytes in base64. */
  redacted: z.string().optional(),
});
export type OpaquePart = Extract<AssistantPart, { readonly type: "opaque" }>;

export const opaque = (
  { model, prefix }: Origin,
  reasoning: Pick<z.infer<typeof recorded>, "text" | "signature" | "redacted">,
): OpaquePart => ({ type: "opaque", provider: PROVIDER, data: toJson({ model: baseId(model), prefix, ...reasoning }) });

export interface SignedBlock {
  readonly block: ContentBlock.ReasoningContentMember;
  readonly prefix: string;
}

/** What could go back to `model`; null: another's, or unsigned, which no model takes. */
export function signedBlock(part: OpaquePart, model: string): SignedBlock | null {
  if (part.provider !== PROVIDER) return null;
  const parsed = recorded.safeParse(part.data);
  if (!parsed.success || parsed.data.model !== baseId(model)) return null;
  const { text, signature, redacted, prefix } = parsed.data;
  if (redacted !== undefined)
    return {
      block: { reasoningContent: { redactedContent: new Uint8Array(Buffer.from(redacted, "base64")) } },
      prefix,
    };
  if (signature === undefined || text === undefined) return null;
  return { block: { reasoningContent: { reasoningText: { text, signature } } }, prefix };
}

export interface Conversation {
  readonly system: readonly SystemContentBlock[];
  readonly tools: readonly Tool[];
  readonly messages: readonly WireMessage[];
}

/**
 * The messages without reasoning that was written after something else than what stands before it now; and the digest of all that is sent. `written` says of
 * each block of reasoning what it was written after. Not `bound`: all of it may stay.
 */
export function bind(
  { system, tools, messages }: Conversation,
  written: ReadonlyMap<ContentBlock, string>,
  bound: boolean,
): { readonly messages: WireMessage[]; readonly prefix: string } {
  const chain = createHash("sha256");
  add(chain, canonical(toJson([system, tools])));
  const kept = messages.map(({ role, content = [] }): WireMessage => {
    const prefix = digestOf(chain);
    const fitting = content.filter((block) => !bound || !written.has(block) || written.get(block) === prefix);
    for (const block of fitting) add(chain, [role, block]);
    return { role, content: fitting };
  });
  return { messages: kept, prefix: digestOf(chain) };
}

const digestOf = (chain: Hash): string => chain.copy().digest("base64url");

/** The order of an object's members is ours: the same code writes them each time. */
const add = (chain: Hash, value: unknown): void =>
  void chain
    .update(JSON.stringify(value, (_, item: unknown) => (item instanceof Uint8Array ? sha256(item) : item)))
    .update("\n");

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("base64url");
