import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseJson } from "./json.ts";
import type { Usage } from "./respond.ts";

/** One request, counted when it arrived: a provider bills it whether or not anybody was left to read the answer. */
export interface LedgerEntry {
  readonly n: number;
  readonly arrivedAt: string;
  /** When the answer was sent or the client hung up; null while neither has happened, or if the server died first. */
  readonly finishedAt: string | null;
  /** The whole answer was handed to a client that was still there. */
  readonly answered: boolean;
  /** HTTP status of the answer; a refused request (400) is in the ledger too. Null until the server has decided. */
  readonly status: number | null;
  readonly requestDigest: string;
  readonly model: string | null;
  readonly usage: Usage | null;
}

export interface Ledger {
  arrive(request: Pick<LedgerEntry, "requestDigest" | "model">): number;
  decide(n: number, status: number, usage: Usage | null): void;
  finish(n: number, answered: boolean): void;
  entries(): readonly LedgerEntry[];
}

type Line =
  | ({ readonly event: "arrived"; readonly at: string } & Pick<LedgerEntry, "n" | "requestDigest" | "model">)
  | { readonly event: "decided"; readonly n: number; readonly status: number; readonly usage: Usage | null }
  | { readonly event: "finished"; readonly at: string; readonly n: number; readonly answered: boolean };

/**
 * Opens a ledger, kept as JSON lines if a file is given: each is on disk before the request goes on, so a killed
 * server finds its count again. A last line that was torn by the kill is dropped.
 */
export function openLedger(now: () => Date, file?: string): Ledger {
  const entries = new Map<number, LedgerEntry>();
  if (file !== undefined) restore(file, entries);
  const write = (line: Line): void => {
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`, { flush: true });
    absorb(entries, line);
  };
  return {
    arrive(request) {
      const n = entries.size + 1;
      write({ event: "arrived", n, at: now().toISOString(), ...request });
      return n;
    },
    decide(n, status, usage) {
      write({ event: "decided", n, status, usage });
    },
    finish(n, answered) {
      if (entries.get(n)?.finishedAt === null) write({ event: "finished", n, at: now().toISOString(), answered });
    },
    entries: () => [...entries.values()],
  };
}

function restore(file: string, entries: Map<number, LedgerEntry>): void {
  mkdirSync(dirname(file), { recursive: true });
  if (!existsSync(file)) return;
  const text = readFileSync(file, "utf8");
  for (const line of text.split("\n")) {
    const parsed = parseJson(line) as Line | undefined;
    if (parsed !== undefined) absorb(entries, parsed);
  }
  if (text.length > 0 && !text.endsWith("\n")) appendFileSync(file, "\n", { flush: true });
}

function absorb(entries: Map<number, LedgerEntry>, line: Line): void {
  if (line.event === "arrived") {
    const { n, at, requestDigest, model } = line;
    const open = { finishedAt: null, answered: false, status: null, usage: null };
    entries.set(n, { n, arrivedAt: at, requestDigest, model, ...open });
    return;
  }
  const entry = entries.get(line.n);
  if (entry === undefined) return;
  if (line.event === "decided") entries.set(line.n, { ...entry, status: line.status, usage: line.usage });
  else entries.set(line.n, { ...entry, finishedAt: line.at, answered: line.answered });
}
