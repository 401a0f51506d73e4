// Signatures of reasoning as a model's maker gives them: of the very text, by the very model, and of newer models after the very conversation. Made from
// these, so a server that starts anew knows its own.
import { createHash, createHmac } from "node:crypto";
import type { ConverseBody } from "./shape.ts";

const baseOf = (modelId: string): string => modelId.replace(/^.*\//, "").replace(/^(?:us|eu|apac|global|jp|au)\./, "");

/** Take their reasoning back only while nothing before it has changed. */
export const binds = (modelId: string): boolean => /claude-(?:(?:fable|mythos)-5-[12]|\w+-5-5)/.test(modelId);

/** What reasoning of the answer to this is bound to; `messages` counts those that stand before it. */
export function prefixOf(modelId: string, body: ConverseBody, messages = body.messages.length): string {
  if (!binds(modelId)) return "";
  const before = [body.system ?? [], body.toolConfig?.tools ?? [], ...body.messages.slice(0, messages).map((m) => [m])];
  const unmarked = JSON.stringify(before, (_, value: unknown) =>
    Array.isArray(value) ? value.filter((item) => !isMark(item)) : value,
  );
  return createHash("sha256").update(unmarked).digest("hex");
}

const isMark = (item: unknown): boolean => typeof item === "object" && item !== null && "cachePoint" in item;

export const signatureOf = (modelId: string, text: string, prefix: string): string =>
  createHmac("sha256", "wire")
    .update(JSON.stringify([baseOf(modelId), text, prefix]))
    .digest("base64");

/** Encrypted reasoning, in base64. */
export const redactedOf = (modelId: string, text: string, prefix: string): string =>
  Buffer.from(`redacted:${signatureOf(modelId, text, prefix)}:${text}`).toString("base64");

type Given =
  | { readonly reasoningText: { readonly text: string; readonly signature?: string | undefined } }
  | { readonly redactedContent: string };

export function verified(modelId: string, given: Given, prefix: string): boolean {
  if ("reasoningText" in given)
    return given.reasoningText.signature === signatureOf(modelId, given.reasoningText.text, prefix);
  const [, signature = "", text = ""] =
    /^redacted:([^:]+):(.*)$/s.exec(Buffer.from(given.redactedContent, "base64").toString("utf8")) ?? [];
  return signature === signatureOf(modelId, text, prefix);
}
