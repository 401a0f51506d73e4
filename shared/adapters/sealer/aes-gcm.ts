// Content sealed with AES-256-GCM: each run, and each file, schedule and header, has a random data key, wrapped by the first of the installation's keys. What is
// sealed is bound to what its key was made for and to its place, so nothing sealed opens anywhere else.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { keyMissing, NO_SEALER, unreadable, wrappedParts } from "../../core/sealing.ts";
import type { DataKey, Sealer } from "../../ports/sealer.ts";
import type { Secrets, SecretValues } from "../../ports/secrets.ts";
import { type MasterKey, masterKeysIn } from "./master-keys.ts";

const ALGORITHM = "aes-256-gcm";
/** In bytes, as the algorithm has them. */
const SIZE = { key: 32, nonce: 12, tag: 16 } as const;
/** Of what is sealed with a data key. */
const VERSION = "1.";

/** `secrets`: where TOREN_ENCRYPTION_KEYS is looked up, at each new data key and for each key that isn't known; a set that changes is taken up. */
export function createSealer(secrets: Secrets): Sealer {
  let known: { readonly values: SecretValues; readonly keys: readonly MasterKey[] } | undefined;
  const keysOf = (values: SecretValues): readonly MasterKey[] => {
    if (known?.values !== values) known = { values, keys: masterKeysIn(values) };
    return known.keys;
  };
  const find = async (id: string): Promise<MasterKey> => {
    const values = await secrets.read();
    const has = (keys: readonly MasterKey[]) => keys.find((key) => key.id === id);
    const found = has(keysOf(values));
    if (found !== undefined) return found;
    const others = await secrets.insteadOf(values); // it may have come a minute ago
    const later = others === null ? undefined : has(keysOf(others));
    if (later === undefined) throw keyMissing(id);
    return later;
  };
  return {
    on: true,
    fresh: async (of) => {
      const [first] = keysOf(await secrets.read());
      if (first === undefined) return null; // masterKeysIn gives one at least
      const secret = randomBytes(SIZE.key);
      const box = shut(first.secret, wrapping(first.id, of), secret).toString("base64");
      return dataKey(`k1.${first.id}.${of}.${box}`, of, secret);
    },
    unwrap: async (wrapped) => {
      const parts = wrappedParts(wrapped);
      if (parts === null) throw unreadable("A wrapped key is of another version, or was changed.");
      const { keyId, of, box } = parts;
      const { secret } = await find(keyId);
      const data = unshut(secret, wrapping(keyId, of), Buffer.from(box, "base64"), () => wrongKey(keyId));
      return dataKey(wrapped, of, data);
    },
  };
}

/** By what the environment says. @throws TorenError `encryption.keys_invalid`. */
export async function sealerBy(secrets: Secrets): Promise<Sealer> {
  const values = await secrets.read();
  if (!values.TOREN_ENCRYPTION_KEYS) return NO_SEALER;
  masterKeysIn(values);
  return createSealer(secrets);
}

const wrongKey = (keyId: string) =>
  unreadable(
    `A data key doesn't open with the key "${keyId}": another key has that id here than where this was written, or the wrapped key was changed.`,
  );

const wrapping = (keyId: string, of: string): string => `toren k1\n${keyId}\n${of}`;

function dataKey(wrapped: string, of: string, secret: Buffer): DataKey {
  const bound = (place: string): string => `toren 1\n${of}\n${place}`;
  const closed = (place: string) => (): Error =>
    unreadable(`What is sealed as "${place}" of ${of} doesn't open: it was changed, or isn't what it stands for.`);
  return {
    wrapped,
    seal: (place, text) => VERSION + shut(secret, bound(place), Buffer.from(text)).toString("base64"),
    open: (place, sealed) => {
      if (!sealed.startsWith(VERSION)) throw unreadable("This is sealed in the way of another version.");
      const box = Buffer.from(sealed.slice(VERSION.length), "base64");
      return unshut(secret, bound(place), box, closed(place)).toString("utf8");
    },
    sealBytes: (place, bytes) => shut(secret, bound(place), bytes),
    openBytes: (place, sealed) => unshut(secret, bound(place), sealed, closed(place)),
  };
}

/** Nonce, ciphertext and tag. */
function shut(secret: Buffer, bound: string, plain: Uint8Array): Buffer {
  const nonce = randomBytes(SIZE.nonce);
  const cipher = createCipheriv(ALGORITHM, secret, nonce).setAAD(Buffer.from(bound));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function unshut(secret: Buffer, bound: string, box: Uint8Array, closed: () => Error): Buffer {
  if (box.byteLength < SIZE.nonce + SIZE.tag) throw closed();
  const nonce = box.subarray(0, SIZE.nonce);
  const tag = box.subarray(box.byteLength - SIZE.tag);
  try {
    const decipher = createDecipheriv(ALGORITHM, secret, nonce, { authTagLength: SIZE.tag });
    decipher.setAAD(Buffer.from(bound)).setAuthTag(tag);
    return Buffer.concat([decipher.update(box.subarray(SIZE.nonce, box.byteLength - SIZE.tag)), decipher.final()]);
  } catch {
    throw closed();
  }
}
