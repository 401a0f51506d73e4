/** The shop's orders. In a real shop they are in its own system. */
export interface Order {
  readonly order: string;
  readonly customer: string;
  readonly item: string;
  readonly cents: number;
}

const ORDERS: readonly Order[] = [
  { order: "A-1001", customer: "Ada Byron", item: "a desk lamp", cents: 3_900 },
  { order: "A-1002", customer: "Grace Murray", item: "an office chair", cents: 24_900 },
  { order: "A-1003", customer: "Alan Mathison", item: "a box of pencils", cents: 1_250 },
];

export const findOrder = (order: string): Order | undefined => ORDERS.find((known) => known.order === order);
