// With which keys what the database holds of runs is sealed. A run's key is made with it and never changes, so it is read once and kept; a run without one is
// plain for good. Where no key is set, nothing is asked before a write; a read asks when it meets something that is sealed.
import { fromStored, type Json } from "../../core/json.ts";
import { SEALED_RUNS_KNOWN } from "../../core/limits.ts";
import {
  hasSealed,
  keyApart,
  markOf,
  NO_SEALER,
  opened,
  openWith,
  sealedAway,
  UNOPENED,
  unreadable,
} from "../../core/sealing.ts";
import type { DataKey, Sealer } from "../../ports/sealer.ts";
import type { Verb } from "../../sql/queries.ts";

type Ask = <R>(verb: Verb, agent: string | null, values: unknown[]) => Promise<R[]>;

export interface Seals {
  readonly sealer: Sealer;
  /** What is written of the run is sealed with it; null: the run is plain, or nothing is sealed here. @throws TorenError `encryption.key_missing`. */
  toWrite(agent: string, runId: string): Promise<DataKey | null>;
  /** @throws TorenError `encryption.key_missing`; `encryption.unreadable`: the run has none. */
  toRead(agent: string, runId: string): Promise<DataKey>;
  /** Null: the run is plain, or isn't there. */
  wrappedKey(agent: string, runId: string): Promise<string | null>;
  /** What a statement said of a run beside all else: nobody need ask again. */
  know(runId: string, wrapped: string | null): void;
  /** Those of several runs in one statement, where any isn't known. */
  look(agent: string, runIds: readonly string[]): Promise<void>;
}

export function createSeals(ask: Ask, sealer: Sealer = NO_SEALER): Seals {
  const wrappedKeys = createKept<string | null>();
  const dataKeys = createKept<DataKey>();
  const look = async (agent: string, runIds: readonly string[]): Promise<void> => {
    const unknown = [...new Set(runIds)].filter((runId) => wrappedKeys.get(runId) === undefined);
    if (unknown.length === 0) return;
    const rows = await ask<{ run_id: string; data_key: string | null }>("read-data-keys", agent, [unknown]);
    for (const row of rows) wrappedKeys.set(row.run_id, row.data_key);
  };
  const unwrapped = async (wrapped: string): Promise<DataKey> => {
    const known = dataKeys.get(wrapped);
    if (known !== undefined) return known;
    const key = await sealer.unwrap(wrapped);
    dataKeys.set(wrapped, key);
    return key;
  };
  const wrappedKey = async (agent: string, runId: string): Promise<string | null> => {
    await look(agent, [runId]);
    return wrappedKeys.get(runId) ?? null;
  };
  const keyOf = async (agent: string, runId: string): Promise<DataKey | null> => {
    const wrapped = await wrappedKey(agent, runId);
    return wrapped === null ? null : await unwrapped(wrapped);
  };
  return {
    sealer,
    toWrite: async (agent, runId) => (sealer.on ? await keyOf(agent, runId) : null),
    toRead: async (agent, runId) => {
      const key = await keyOf(agent, runId);
      if (key === null)
        throw unreadable(`Run ${runId} holds something sealed and has no key: it was erased, or its row changed.`);
      return key;
    },
    wrappedKey,
    know: (runId, wrapped) => wrappedKeys.set(runId, wrapped),
    look,
  };
}

interface Kept<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

/** The last SEALED_RUNS_KNOWN that were used. */
function createKept<V>(): Kept<V> {
  const kept = new Map<string, V>();
  return {
    get: (key) => {
      const value = kept.get(key);
      if (value === undefined) return undefined;
      kept.delete(key);
      kept.set(key, value);
      return value;
    },
    set: (key, value) => {
      kept.delete(key);
      kept.set(key, value);
      for (const oldest of kept.keys()) {
        if (kept.size <= SEALED_RUNS_KNOWN) break;
        kept.delete(oldest);
      }
    },
  };
}

export interface SealedRow {
  readonly runId: string;
  readonly value: Json;
  /** What the value is, where it is sealed as a whole; or the path under which its fields stand elsewhere. */
  readonly place?: string;
}
/** What becomes of what can't be opened: it is thrown, or a few words stand in its place. */
export type Unopened = "throw" | "say";

/** Values as they were before they were sealed, in the stored form. Where nothing is sealed no statement is made. */
export async function openAll(
  seals: Seals,
  agent: string,
  rows: readonly SealedRow[],
  unopened: Unopened = "throw",
): Promise<Json[]> {
  const shut = rows.filter((row) => hasSealed(row.value));
  if (shut.length === 0) return rows.map((row) => row.value);
  await seals.look(
    agent,
    shut.map((row) => row.runId),
  );
  return await Promise.all(
    rows.map(async (row) => (hasSealed(row.value) ? await openRow(seals, agent, row, unopened) : row.value)),
  );
}

async function openRow(seals: Seals, agent: string, row: SealedRow, unopened: Unopened): Promise<Json> {
  const { runId, value, place = "" } = row;
  try {
    return opened(value, openWith(await seals.toRead(agent, runId)), place);
  } catch (e) {
    if (unopened === "throw" || sealedAway(e) === null) throw e;
    return opened(value, () => UNOPENED);
  }
}

/** A value that belongs to no run, in the stored form. @throws TorenError `encryption.key_missing`, `encryption.unreadable`. */
export async function openApart(sealer: Sealer, value: Json, place: string): Promise<Json> {
  const wrapped = keyApart(value);
  return wrapped === null ? value : openWith(await sealer.unwrap(wrapped))(place, markOf(value) ?? "");
}

/** As openAll, in the form that everybody else knows. */
export const openAndRead = async (seals: Seals, agent: string, rows: readonly SealedRow[]): Promise<Json[]> =>
  (await openAll(seals, agent, rows)).map(fromStored);
