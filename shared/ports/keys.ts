// API keys, by their hashes alone: who may ask, and for what.
import type { Scope } from "../core/scopes.ts";

/** Whoever asks. */
export interface Caller {
  /** Null: the laptop's dev key, which is a file and no row. */
  readonly keyId: string | null;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: all there are. */
  readonly agents: readonly string[] | null;
}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly agents: readonly string[] | null;
  /** Milliseconds since 1970; null: it doesn't expire. */
  readonly expiresAt: number | null;
}

export interface KeyInfo extends NewKey {
  readonly id: string;
  /** Its first characters, to tell it from others; null: of a key that was kept before they were. */
  readonly begins: string | null;
  readonly createdAt: number;
  /** Null: the deployer. */
  readonly createdBy: string | null;
  readonly revokedAt: number | null;
  /** Exact to a minute or so. */
  readonly lastUsedAt: number | null;
}

export type Admission =
  | { readonly type: "admitted"; readonly caller: Caller }
  | { readonly type: "unknown" | "revoked" | "expired" };

export interface Keys {
  /** Keeps the hash of a key that may do everything. Idempotent: one that is there already stays as it is. */
  keep(key: string, name: string): Promise<void>;
  /** Null: `expiresAt` is past. */
  create(key: string, made: NewKey & { readonly createdBy: string }): Promise<KeyInfo | null>;
  /** As of some seconds ago at worst: answers are remembered for KEY_KEEP_MS. */
  admit(key: string): Promise<Admission>;
  /** Newest first, revoked ones too. */
  list(): Promise<KeyInfo[]>;
  /** Idempotent. Null: there is no such key. */
  revoke(id: string): Promise<KeyInfo | null>;
}
