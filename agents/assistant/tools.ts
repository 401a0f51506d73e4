import { defineTool } from "toren";
import * as z from "zod";
import { calculate as resultOf } from "./arithmetic.ts";

export const current_time = defineTool({
  description: "The date and the time now, in UTC or in a time zone such as Europe/Berlin.",
  input: z.object({ timeZone: z.string().max(60).optional() }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: ({ timeZone = "UTC" }) => {
    const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "full", timeStyle: "long" });
    return format.format(new Date());
  },
});

export const calculate = defineTool({
  description: "Works out arithmetic with + - * / % ^ and parentheses, as in 12 * (3 + 4).",
  input: z.object({ expression: z.string().min(1).max(200) }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: ({ expression }) => `${expression.trim()} = ${resultOf(expression)}`,
});
