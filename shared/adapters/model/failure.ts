// What adapters of providers say of a failure in the same way: its form, and how long the provider asks to be left alone.
import type { ErrorCode } from "../../core/errors.ts";
import { totalTokens, type Usage } from "../../core/messages.ts";
import type { ModelFailure } from "../../ports/model.ts";

export const failure = (code: ErrorCode, message: string, retryable: boolean, retryAfterMs?: number): ModelFailure => ({
  error: { code, message },
  retryable,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

/** The failure of a call of which the provider had said what it used; null: it hadn't. */
export const withUsage = (failed: ModelFailure, usage: Usage | null): ModelFailure =>
  usage === null || totalTokens(usage) === 0 ? failed : { ...failed, usage };

/** Of `retry-after`: seconds or a date, as HTTP has it. Undefined: it names no time. */
export function retryAfter(value: string | null | undefined): number | undefined {
  if (!value) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/** The exact milliseconds where a provider gives them, else as HTTP has it. */
export function retryAfterMs(headers: Headers | undefined): number | undefined {
  const exact = Number(headers?.get("retry-after-ms") || Number.NaN);
  return Number.isFinite(exact) ? Math.max(0, exact) : retryAfter(headers?.get("retry-after"));
}

/** The words of a page that came instead of an answer. */
export const withoutTags = (page: string): string =>
  page
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
