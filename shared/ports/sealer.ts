// How content is sealed: by a data key of each run's own, which a key of the installation's owner wraps. With keys: adapters/sealer/aes-gcm.ts; where
// none is set: NO_SEALER of core/sealing.ts. What is sealed is told from plain values by its form, so readers need no setting.

/** The key of one run, or of something that belongs to none: a file, a schedule. */
export interface DataKey {
  /** As it is kept beside what it seals: `k1.<the wrapping key's id>.<what it was made for>.<base64>`. */
  readonly wrapped: string;
  /** `place`: what the text is, as in `args`. It opens as nothing else. The text must be well-formed, as JSON is. */
  seal(place: string, text: string): string;
  /** @throws TorenError `encryption.unreadable`: changed, moved, or sealed with another key. */
  open(place: string, sealed: string): string;
  sealBytes(place: string, bytes: Uint8Array): Uint8Array;
  /** @throws TorenError as open. */
  openBytes(place: string, sealed: Uint8Array): Uint8Array;
}

export interface Sealer {
  /** False: no key is set. Nothing new is sealed, and nobody need ask how a run is. */
  readonly on: boolean;
  /** A new data key. `of`: an id of what it is for, without dots; it becomes part of all that is sealed with it. Null: no key is set. @throws TorenError `encryption.keys_invalid`, `secret.unavailable`. */
  fresh(of: string): Promise<DataKey | null>;
  /** @throws TorenError `encryption.key_missing` naming the key that wraps it, `encryption.unreadable`, `secret.unavailable`. */
  unwrap(wrapped: string): Promise<DataKey>;
}
