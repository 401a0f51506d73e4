import { join } from "node:path";
import { defineTool } from "toren";
import * as z from "zod";
import { findOrder } from "./ledger/orders.ts";
import { openLedger } from "./ledger/refunds.ts";

/** Refunds above this wait for a person. */
const FREE_CENTS = 5_000;

/** REFUNDS_FOLDER, else in the state folder. */
const ledger = () => openLedger(process.env.REFUNDS_FOLDER || join(process.env.TOREN_HOME || ".toren", "refunds"));

const orderId = z
  .string()
  .regex(/^[A-Z]-\d{4}$/)
  .describe("The order's number, as in A-1002");
const money = (cents: number): string => (cents / 100).toFixed(2);
const total = (refunds: readonly { readonly cents: number }[]): number =>
  refunds.reduce((cents, refund) => cents + refund.cents, 0);

function known(id: string) {
  const order = findOrder(id);
  if (order === undefined) throw new Error(`There is no order ${id}.`);
  return order;
}

export const get_order = defineTool({
  description: "Looks an order up: what was bought, what was paid, and what has been paid back.",
  input: z.object({ orderId }),
  effects: "none",
  idempotency: "none",
  approval: "never",
  handler: async (args) => {
    const { order, customer, item, cents } = known(args.orderId);
    const refunds = await ledger().refunds(order);
    return { order, customer, item, paid: money(cents), refunded: money(total(refunds)) };
  },
});

export const refund_order = defineTool({
  description: "Pays money back for an order. A person has to allow more than 50.",
  input: z.object({
    orderId,
    amount: z.number().positive().max(100_000).describe("How much, in the shop's currency, as in 19.90"),
    reason: z.string().min(1).max(500).describe("Why, for the books"),
  }),
  effects: "external",
  // The ledger takes the call's key: after a crash the same call is made again, and the money isn't.
  idempotency: "keyed",
  approval: ({ amount }) => toCents(amount) > FREE_CENTS,
  handler: async ({ orderId: id, amount, reason }, ctx) => {
    const { order, cents } = known(id);
    const at = new Date().toISOString();
    const done = await ledger().refund(order, cents, { key: ctx.idempotencyKey, cents: toCents(amount), reason, at });
    if (done.type === "tooMuch") throw new Error(`Of ${money(cents)} only ${money(done.leftCents)} is left to refund.`);
    return { order, refunded: money(done.refund.cents), at: done.refund.at };
  },
});

const toCents = (amount: number): number => Math.round(amount * 100);
