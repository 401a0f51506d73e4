// What the descriptions of runs are made of.
import * as z from "zod";

export const time = z.string().meta({ format: "date-time" });
export const count = z.int().nonnegative();
export const error = z.object({ code: z.string(), message: z.string() });
export const usd = z.number().nullable().meta({ description: "US dollars; null: a model's price isn't known." });

export const rfc3339 = (ms: number): string => new Date(ms).toISOString();
export const timeOrNull = (ms: number | null): string | null => (ms === null ? null : rfc3339(ms));
