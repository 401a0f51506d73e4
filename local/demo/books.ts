// The books: what the model's server says it was asked, beside what the log says was paid. Two programs that share nothing have to come to the same. Pure.
import type { Receipt } from "../../shared/core/receipt.ts";
import { counted, grouped } from "../terminal/units.ts";

export interface Books {
  /** Requests that the model's server answered or began to answer: what a provider bills. */
  readonly ledger: number;
  /** Answers on record. */
  readonly recorded: number;
  /** Questions that were in flight when their worker died: billed, never recorded, and sent again. */
  readonly inFlight: number;
  /** Recorded answers that were paid a second time. */
  readonly repaid: number;
  /** ledger = recorded + inFlight, and nothing was paid twice. */
  readonly agree: boolean;
}

/** `status` of the ledger's entries; refused requests are listed there too, and cost nothing. */
export function booksOf(ledger: readonly { readonly status: number | null }[], receipt: Receipt): Books {
  const billed = ledger.filter(({ status }) => status === 200).length;
  const { modelCalls: recorded, unanswered: inFlight, repaid } = receipt;
  return { ledger: billed, recorded, inFlight, repaid, agree: billed === recorded + inFlight && repaid === 0 };
}

export const booksLine = ({ ledger, recorded, inFlight, repaid }: Books): string =>
  `server ledger ${counted(ledger, "request")} · log ${grouped(recorded)} recorded · ${grouped(inFlight)} in flight, sent again · recorded answers re-paid ${grouped(repaid)}`;
