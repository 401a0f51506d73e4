// Forms of values that several routes take.
import * as z from "zod";

/** A time in RFC 3339, as milliseconds since 1970. */
export const instant = z.iso
  .datetime({ offset: true, error: "must be a time as 2026-11-30T08:00:00Z" })
  .transform((text) => Date.parse(text));

export const agentName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,40}$/, "an agent's name: a-z first, then a-z, 0-9 and _, 41 at most");

/** Text for people in one line: whatever it says, it does nothing to the terminal or the log that shows it. */
export const label = (maxChars: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxChars)
    .refine(
      (text) => text.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(text),
      "must be one line of text without control characters",
    );
