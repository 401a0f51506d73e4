// Which conversation an answer's thinking was written in. Newer models take their thinking back only while everything before it is unchanged, and refuse
// the request otherwise; ours changes when old parts are folded, or when an edited prompt meets a conversation that goes on. So an answer with thinking is
// recorded with a digest of what had been sent, in a part of its own that is never sent, and thinking whose digest no longer fits is left out.
import { createHash } from "node:crypto";
import { canonical, type Json, toJson } from "../../../core/json.ts";
import type { AssistantPart } from "../../../core/messages.ts";

export const PROVIDER = "anthropic";
const ORIGIN = "toren_origin";

export type OpaquePart = Extract<AssistantPart, { readonly type: "opaque" }>;

export interface Origin {
  readonly model: string;
  /** The prefix that the answer was given to. */
  readonly prefix: string;
}

export const originPart = ({ model, prefix }: Origin): OpaquePart => ({
  type: "opaque",
  provider: PROVIDER,
  data: { type: ORIGIN, model, prefix },
});

/** Null: the part is something else. */
export function originOf(part: OpaquePart): Origin | null {
  const { type, model, prefix } = fieldsOf(part.data);
  return type === ORIGIN && typeof model === "string" && typeof prefix === "string" ? { model, prefix } : null;
}

export const fieldsOf = (data: Json): Readonly<Record<string, Json>> =>
  typeof data === "object" && data !== null && !Array.isArray(data) ? (data as Readonly<Record<string, Json>>) : {};

/** One link more of the chain that a prefix is. */
export const linked = (prefix: string, next: unknown): string =>
  createHash("sha256")
    .update(prefix)
    .update(canonical(toJson(next)))
    .digest("base64url");
