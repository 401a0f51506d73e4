// The form of sealed values: `{"<mark>": "1.…"}` in the place of each value that is content. The mark can't be a field of a user's, as that of blobs can't.
// Sealing is the last thing on the way into a column and the first on the way out: what is sealed is the stored form.
import { BLANK_IN_CLEAR } from "./content.ts";
import { type ErrorInfo, TorenError } from "./errors.ts";
import { BLOB_KEY, isObject, type Json, type JsonObject, SEALED_KEY } from "./json.ts";

/** What seals and opens (ports/sealer.ts), as far as values need it. */
export interface SealsText {
  readonly wrapped: string;
  seal(place: string, text: string): string;
  open(place: string, sealed: string): string;
}

/** How deep marks stand at most: `outcome.error.message`. */
const MARK_DEPTH = 3;

/** The value, what stands at each path of it sealed. A path of no steps, `""`, is the value as a whole; `place` says then what it is. */
export function sealed(value: Json, paths: readonly string[], key: SealsText, place = ""): Json {
  return paths.reduce((whole, path) => sealAt(whole, path === "" ? [] : path.split("."), key, path || place), value);
}

function sealAt(value: Json, [step, ...rest]: readonly string[], key: SealsText, place: string): Json {
  if (step === undefined) {
    if (place === BLANK_IN_CLEAR && typeof value === "string" && value.trim() === "") return value;
    return { [SEALED_KEY]: key.seal(place, JSON.stringify(value)) };
  }
  // What lies in a blob is sealed there, as a whole.
  if (!isObject(value) || !Object.hasOwn(value, step) || isPointer(value[step])) return value;
  return { ...value, [step]: sealAt(value[step] as Json, rest, key, place) };
}

const isPointer = (value: Json | undefined): boolean => isObject(value) && Object.hasOwn(value, BLOB_KEY);

export const markOf = (value: Json | undefined): string | null => {
  const mark = isObject(value) ? value[SEALED_KEY] : undefined;
  return typeof mark === "string" ? mark : null;
};

/** Whether anything of it is sealed. */
export function hasSealed(value: Json | undefined, depth = MARK_DEPTH): boolean {
  if (!isObject(value)) return false;
  if (markOf(value) !== null) return true;
  if (depth === 0) return false;
  for (const field in value) if (hasSealed(value[field], depth - 1)) return true;
  return false;
}

/** The value, everything that is sealed in it put through `open`. `place`: where it stands, if not at the top of its column. */
export function opened(
  value: Json,
  open: (place: string, sealed: string) => Json,
  place = "",
  depth = MARK_DEPTH,
): Json {
  const mark = markOf(value);
  if (mark !== null) return open(place, mark);
  if (!isObject(value) || depth === 0) return value;
  let result: Record<string, Json> | undefined;
  for (const [field, part] of Object.entries(value)) {
    if (!hasSealed(part, depth - 1)) continue;
    result ??= { ...value };
    result[field] = opened(part, open, place === "" ? field : `${place}.${field}`, depth - 1);
  }
  return result ?? value;
}

/** With a key. @throws TorenError `encryption.unreadable`. */
export const openWith =
  (key: SealsText) =>
  (place: string, mark: string): Json =>
    JSON.parse(key.open(place, mark)) as Json;

/** A value that belongs to no run, sealed as a whole, its key beside it. */
export const sealedApart = (value: Json, key: SealsText, place: string): JsonObject => ({
  [SEALED_KEY]: key.seal(place, JSON.stringify(value)),
  key: key.wrapped,
});

/** The wrapped key that a value sealed apart has beside it; null: it isn't sealed. */
export const keyApart = (value: Json): string | null =>
  markOf(value) !== null && isObject(value) && typeof value.key === "string" ? value.key : null;

const WRAPPED = /^k1\.([\w-]{1,40})\.([\w-]{1,80})\.([A-Za-z0-9+/=]+)$/;
export interface Wrapped {
  /** Of the key that wraps it. */
  readonly keyId: string;
  readonly of: string;
  readonly box: string;
}
/** Null: of another version, or damaged. */
export function wrappedParts(wrapped: string): Wrapped | null {
  const [, keyId, of, box] = WRAPPED.exec(wrapped) ?? [];
  return keyId === undefined || of === undefined || box === undefined ? null : { keyId, of, box };
}

export const keyMissing = (keyId: string): TorenError =>
  new TorenError(
    "encryption.key_missing",
    `This is sealed with the key "${keyId}", which this process doesn't have. Set TOREN_ENCRYPTION_KEYS to a list that holds it, as it is where this was written.`,
  );

/** Where no key is set (ports/sealer.ts): nothing is sealed, and what others have sealed stays closed. */
export const NO_SEALER = {
  on: false,
  fresh: async () => null,
  unwrap: async (wrapped: string): Promise<never> => {
    throw missingFor(wrapped);
  },
};

export const missingFor = (wrapped: string): TorenError => {
  const parts = wrappedParts(wrapped);
  return parts === null ? unreadable("A wrapped key is of another version, or was changed.") : keyMissing(parts.keyId);
};

export const unreadable = (why: string): TorenError => new TorenError("encryption.unreadable", why);

/** What stops a worker that lacks a key, or finds damage: the stream is unharmed, and another worker may open it. */
export function sealedAway(thrown: unknown): ErrorInfo | null {
  if (!(thrown instanceof TorenError)) return null;
  return thrown.code === "encryption.key_missing" || thrown.code === "encryption.unreadable" ? thrown.info : null;
}

/** What lists show in the place of a text that they can't open. */
export const UNOPENED = "(sealed; the key isn't here)";
