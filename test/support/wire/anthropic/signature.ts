// What proves that thinking is the provider's own: signed with what it said, by which model, and after what.
import { createHash, createHmac } from "node:crypto";
import { canonical, toJson } from "../../../../shared/core/json.ts";
import type { Body, WireBlock, WireMessage } from "./shape.ts";

const SECRET = "signed by the server of these tests";

export type Thinking = Extract<WireBlock, { readonly type: "thinking" | "redacted_thinking" }>;

/** `said`: the text of the thinking as it was given out; empty where it wasn't shown. */
export function sign(model: string, prefix: string, said: string): string {
  const body = Buffer.from(JSON.stringify({ model, prefix, said: digest(said) })).toString("base64url");
  return `${body}.${createHmac("sha256", SECRET).update(body).digest("base64url")}`;
}

/** Null: not signed here. */
export function readSignature(
  signature: string,
): { readonly model: string; readonly prefix: string; readonly said: string } | null {
  const [body = "", proof] = signature.split(".");
  if (createHmac("sha256", SECRET).update(body).digest("base64url") !== proof) return null;
  return JSON.parse(Buffer.from(body, "base64url").toString());
}

export const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** Of all that stands before a block: what its thinking is bound to. Marks of what to cache don't count, nor does the order of keys. */
export const prefixDigest = (body: Body, before: readonly WireMessage[]): string =>
  digest(canonical(toJson(JSON.parse(JSON.stringify([body.system, body.tools, before], withoutCache)))));

const withoutCache = (key: string, value: unknown): unknown => (key === "cache_control" ? undefined : value);
