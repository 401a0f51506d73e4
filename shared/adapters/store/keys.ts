// API keys in the control schema.
import { createHash } from "node:crypto";
import { KEY_KEEP_MS, KEYS_REMEMBERED } from "../../core/limits.ts";
import type { Scope } from "../../core/scopes.ts";
import type { Database } from "../../ports/database.ts";
import type { Admission, KeyInfo, Keys } from "../../ports/keys.ts";
import { createStatements } from "./statements.ts";

interface Row {
  readonly key_id: string;
  readonly name: string;
  readonly begins: string | null;
  readonly scopes: Scope[];
  readonly agents: string[] | null;
  readonly created_at: number;
  readonly created_by: string | null;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
  readonly last_used_at: number | null;
}

const BEGINNING_CHARS = "toren_".length + 4;

/** `elapsedMs` measures how old a remembered answer is; whether a key has expired is the database's to say (I8). */
export function createKeys(
  database: Pick<Database, "appends" | "pool">,
  elapsedMs: () => number = () => performance.now(),
): Keys {
  const { ask } = createStatements(database);
  const remembered = new Map<string, { readonly admission: Admission; readonly until: number }>();
  return {
    keep: async (key, name) => void (await ask("add-api-key", null, [hashOf(key), name])),
    create: async (key, { name, scopes, agents, expiresAt, createdBy }) => {
      const values = [hashOf(key), name, key.slice(0, BEGINNING_CHARS), scopes, agents, expiresAt, createdBy];
      const [row] = await ask<Row>("create-api-key", null, values);
      return row === undefined ? null : keyInfo(row);
    },
    admit: async (key) => {
      const hash = hashOf(key);
      const known = remembered.get(hash);
      if (known !== undefined && known.until > elapsedMs()) return known.admission;
      const [row] = await ask<Row & { expired: boolean }>("find-api-key", null, [hash]);
      const admission = admissionOf(row);
      remembered.delete(hash);
      if (admission.type === "unknown") return admission; // whoever guesses fills no memory
      if (remembered.size >= KEYS_REMEMBERED) remembered.clear();
      remembered.set(hash, { admission, until: elapsedMs() + KEY_KEEP_MS });
      return admission;
    },
    list: async () => (await ask<Row>("list-api-keys", null, [])).map(keyInfo),
    revoke: async (id) => {
      const [row] = await ask<Row>("revoke-api-key", null, [id]);
      remembered.clear();
      return row === undefined ? null : keyInfo(row);
    },
  };
}

function admissionOf(row: (Row & { readonly expired: boolean }) | undefined): Admission {
  if (row === undefined) return { type: "unknown" };
  if (row.revoked_at !== null) return { type: "revoked" };
  if (row.expired) return { type: "expired" };
  const { key_id: keyId, name, scopes, agents } = row;
  return { type: "admitted", caller: { keyId, name, scopes, agents } };
}

const keyInfo = (row: Row): KeyInfo => ({
  id: row.key_id,
  name: row.name,
  begins: row.begins,
  scopes: row.scopes,
  agents: row.agents,
  createdAt: row.created_at,
  createdBy: row.created_by,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  lastUsedAt: row.last_used_at,
});

/**
 * A key is 190 random bits: what is slow to guess needs no slow hash. Keys are compared by their hashes in an index: how long that takes tells at most of
 * the hash of what was sent, and from a hash leads no way to a key.
 */
const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");
