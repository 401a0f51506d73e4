// The ledger of refunds: a folder an order, a file a refund, numbered. A file is made whole or not at all, and only where none of its number is, so two who
// write at once can't both be third, and whoever dies in the middle leaves nothing half-written. A refund is made once for each key, however often it is asked for.
import { link, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface Refund {
  /** Of the call that asked for it: the same key is the same refund. */
  readonly key: string;
  readonly cents: number;
  readonly reason: string;
  /** RFC 3339. */
  readonly at: string;
}

export type Refunded =
  | { readonly type: "refunded"; readonly refund: Refund; readonly again: boolean }
  | { readonly type: "tooMuch"; readonly leftCents: number };

export interface Ledger {
  refunds(order: string): Promise<Refund[]>;
  /** At most `paidCents` in all. `again`: this key was refunded before, and nothing was done now. */
  refund(order: string, paidCents: number, refund: Refund): Promise<Refunded>;
}

const sum = (refunds: readonly Refund[]): number => refunds.reduce((cents, refund) => cents + refund.cents, 0);

export function openLedger(folder: string): Ledger {
  const refunds = async (order: string): Promise<Refund[]> => {
    const names = await readdir(join(folder, order)).catch((e: NodeJS.ErrnoException) => {
      if (e.code === "ENOENT") return [];
      throw e;
    });
    const numbered = names.filter((name) => /^\d{4}\.json$/.test(name)).sort();
    return Promise.all(
      numbered.map(async (name) => JSON.parse(await readFile(join(folder, order, name), "utf8")) as Refund),
    );
  };
  return {
    refunds,
    refund: async (order, paidCents, refund) => {
      for (;;) {
        const before = await refunds(order);
        const same = before.find(({ key }) => key === refund.key);
        if (same !== undefined) return { type: "refunded", refund: same, again: true };
        const leftCents = paidCents - sum(before);
        if (refund.cents > leftCents) return { type: "tooMuch", leftCents };
        const number = String(before.length + 1).padStart(4, "0");
        if (await createOnce(join(folder, order), `${number}.json`, refund))
          return { type: "refunded", refund, again: false };
      }
    },
  };
}

/** False: somebody else was first. */
async function createOnce(folder: string, name: string, refund: Refund): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  const draft = join(folder, `${name}.${crypto.randomUUID()}`);
  await writeFile(draft, `${JSON.stringify(refund, null, 2)}\n`, { flush: true });
  try {
    await link(draft, join(folder, name));
    return true;
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw e;
  } finally {
    await rm(draft, { force: true });
  }
}
