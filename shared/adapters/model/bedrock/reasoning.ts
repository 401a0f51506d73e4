// A model's reasoning in the log: what Converse gave, with the model that wrote it. Signed by its maker, so it goes back character by character, or not at all.
import type { ContentBlock } from "@aws-sdk/client-bedrock-runtime";
import * as z from "zod";
import { toJson } from "../../../core/json.ts";
import type { AssistantPart } from "../../../core/messages.ts";
import { baseId } from "./traits.ts";

export const PROVIDER = "bedrock";

const recorded = z.strictObject({
  /** The foundation model's id, of whatever region; an ARN that names none, as it is. */
  model: z.string(),
  text: z.string().optional(),
  signature: z.string().optional(),
  /** Bytes in base64. */
  redacted: z.string().optional(),
});
type Recorded = z.infer<typeof recorded>;
export type OpaquePart = Extract<AssistantPart, { readonly type: "opaque" }>;

export const opaque = (model: string, reasoning: Omit<Recorded, "model">): OpaquePart => ({
  type: "opaque",
  provider: PROVIDER,
  data: toJson({ model: baseId(model), ...reasoning }),
});

/** The block to send back to `model`; null: another's, or unsigned, which no model takes. */
export function reasoningBlock(part: OpaquePart, model: string): ContentBlock.ReasoningContentMember | null {
  if (part.provider !== PROVIDER) return null;
  const parsed = recorded.safeParse(part.data);
  if (!parsed.success || parsed.data.model !== baseId(model)) return null;
  const { text, signature, redacted } = parsed.data;
  if (redacted !== undefined)
    return { reasoningContent: { redactedContent: new Uint8Array(Buffer.from(redacted, "base64")) } };
  if (signature === undefined || text === undefined) return null;
  return { reasoningContent: { reasoningText: { text, signature } } };
}
