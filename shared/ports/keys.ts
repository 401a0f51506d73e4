// API keys, by their hashes alone.
export interface Keys {
  /** Keeps a key's hash. Idempotent: one that is there already stays as it is. */
  keep(key: string, name: string): Promise<void>;
  /** The name of a key that is kept; null: it isn't. */
  nameOf(key: string): Promise<string | null>;
}
