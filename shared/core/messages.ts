// What is said between the runtime and a model, in the words of neither provider. Part of the digest contract: a field more is a new version.
import * as z from "zod";
import type { Json } from "./json.ts";

export const json: z.ZodType<Json> = z.custom<Json>((value) => value !== undefined, "a JSON value");

/** A model's request to call a tool. `malformed` holds the argument text when it wasn't JSON: such a call is never run. */
const toolUsePart = z.strictObject({
  type: z.literal("toolUse"),
  id: z.string(),
  name: z.string(),
  args: json,
  malformed: z.string().optional(),
});
export type ToolUsePart = z.infer<typeof toolUsePart>;

export const textPart = z.strictObject({ type: z.literal("text"), text: z.string() });

/** Reasoning that a provider wants back exactly as it gave it; `provider` says who. Others drop it. */
const opaquePart = z.strictObject({ type: z.literal("opaque"), provider: z.string(), data: json });

const assistantPart = z.discriminatedUnion("type", [textPart, toolUsePart, opaquePart]);
export type AssistantPart = z.infer<typeof assistantPart>;

/** A file that a model looks at itself. Its content travels only with a request: `fileId` is made from name and content, so a digest of this is one of that. */
export const mediaPart = z.strictObject({
  type: z.literal("media"),
  kind: z.enum(["image", "pdf"]),
  fileId: z.string(),
  mediaType: z.string(),
  name: z.string(),
});
export type MediaPart = z.infer<typeof mediaPart>;
/** Kinds of image that every provider takes. */
export const SEEN_IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export interface ToolResultPart {
  readonly type: "toolResult";
  readonly toolUseId: string;
  readonly text: string;
  readonly isError: boolean;
  /** What the tool showed beside its text; left out when nothing. */
  readonly media?: readonly MediaPart[];
}

export type UserPart = { readonly type: "text"; readonly text: string } | ToolResultPart | MediaPart;
export type Message =
  | { readonly role: "user"; readonly content: readonly UserPart[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantPart[] };

/** Why the model stopped. `pause`: ask again as it is. */
export const stopReason = z.enum(["end", "toolUse", "maxTokens", "refusal", "pause", "contextExceeded"]);
export type StopReason = z.infer<typeof stopReason>;

/** Tokens of one call, the same for every provider: `input` is what no cache served; `reasoning` is a part of `output`. */
export const usage = z.strictObject({
  input: z.int().nonnegative(),
  cacheRead: z.int().nonnegative(),
  cacheWrite: z.int().nonnegative(),
  output: z.int().nonnegative(),
  reasoning: z.int().nonnegative(),
});
export type Usage = z.infer<typeof usage>;

export const NO_USAGE: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  output: a.output + b.output,
  reasoning: a.reasoning + b.reasoning,
});
export const totalTokens = (u: Usage): number => u.input + u.cacheRead + u.cacheWrite + u.output;

export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
}

/** One question to a model, whole. Everything in it but `outputSchema` (which the system prompt repeats in words) is digested. */
export interface ModelRequest {
  /** `provider/name`, as the role names it. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly messages: readonly Message[];
  readonly maxTokens: number;
  /** Goes to the provider as it is. */
  readonly options: Json;
  /** Providers that can be held to a schema may use it. */
  readonly outputSchema?: Json;
}

export const modelResponse = z.strictObject({
  content: z.array(assistantPart),
  stopReason,
  usage,
  /** The provider's own usage object, for audits. */
  rawUsage: json.optional(),
  /** The model that really answered, as the provider names it. */
  servedBy: z.string().optional(),
});
export type ModelResponse = z.infer<typeof modelResponse>;
