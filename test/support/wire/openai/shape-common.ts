// What both interfaces of OpenAI's have in common, as the public API reference gives it.
import * as z from "zod";

/** Lone surrogates make no UTF-8, and the API refuses empty text. */
export const text = z
  .string()
  .min(1)
  .refine((value) => value.isWellFormed(), "a lone surrogate");
export const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
export const callId = z.string().min(1).max(64);
export const json = z.string().refine(isObject, "arguments are no JSON object");

const dataUrl = (types: RegExp) =>
  z.string().refine((url) => {
    const [, type = "", data = ""] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
    return types.test(type) && data !== "" && Buffer.from(data, "base64").toString("base64") === data;
  }, "is no data URL of a kind that is taken");
export const imageUrl = dataUrl(/^image\/(png|jpeg|webp|gif)$/);
export const pdfData = dataUrl(/^application\/pdf$/);

const REFUSED_AT_ROOT = ["anyOf", "oneOf", "allOf", "enum", "const", "not"];

/** What holds for schemas that aren't enforced: an object without alternatives at the root, lists with items. */
export const schema = z.record(z.string(), z.json()).superRefine((value, ctx) => {
  const wrong =
    value.type !== "object" || REFUSED_AT_ROOT.some((key) => key in value)
      ? "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
      : bareList(value)
        ? "array schema missing items."
        : null;
  if (wrong !== null) ctx.addIssue({ code: "custom", message: wrong });
});

function bareList(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(bareList);
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Record<string, unknown>;
  const lists = fields.type === "array" || (Array.isArray(fields.type) && fields.type.includes("array"));
  return (lists && (typeof fields.items !== "object" || fields.items === null)) || Object.values(fields).some(bareList);
}

function isObject(arguments_: string): boolean {
  try {
    const value: unknown = JSON.parse(arguments_);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

export const effort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);
export const both = {
  model: z.string().min(1),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  parallel_tool_calls: z.boolean().optional(),
  service_tier: z.string().optional(),
  prompt_cache_key: z.string().max(64).optional(),
  prompt_cache_retention: z.enum(["in_memory", "24h"]).optional(),
  prompt_cache_options: z.looseObject({}).optional(),
  safety_identifier: z.string().max(128).optional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
  user: z.string().optional(),
  stream: z.boolean().optional(),
};
