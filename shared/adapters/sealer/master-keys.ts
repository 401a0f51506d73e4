// TOREN_ENCRYPTION_KEYS: the keys that wrap data keys, by their ids. Nothing of a key is ever part of a message.
import { TorenError } from "../../core/errors.ts";

export interface MasterKey {
  readonly id: string;
  readonly secret: Buffer;
}

/** Of AES-256. */
const KEY = { bytes: 32 } as const;
const ID = /^[\w-]{1,40}$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** The first one wraps, all unwrap; one at least. @throws TorenError `encryption.keys_invalid`. */
export function masterKeysIn(env: Readonly<Record<string, string | undefined>>): readonly MasterKey[] {
  const parts = (env.TOREN_ENCRYPTION_KEYS ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (parts.length === 0) throw invalid("there is none");
  const keys = parts.map(keyIn);
  const twice = keys.find((key, i) => keys.findIndex((other) => other.id === key.id) !== i);
  if (twice !== undefined) throw invalid(`the id "${twice.id}" is there twice`);
  return keys;
}

function keyIn(part: string, i: number): MasterKey {
  const colon = part.indexOf(":");
  const id = part.slice(0, colon).trim();
  if (colon < 0 || !ID.test(id))
    throw invalid(`entry ${i + 1} doesn't begin with an id of 1 to 40 letters, digits, _ and -, and a colon`);
  const text = part.slice(colon + 1).trim();
  const secret = Buffer.from(text, "base64");
  if (!BASE64.test(text) || secret.byteLength !== KEY.bytes)
    throw invalid(`the key "${id}" isn't ${KEY.bytes} bytes in base64`);
  return { id, secret };
}

const invalid = (what: string): TorenError =>
  new TorenError(
    "encryption.keys_invalid",
    `TOREN_ENCRYPTION_KEYS can't be used: ${what}. It is a list as in 2026-11:<base64>,2025-04:<base64>, the key that encrypts first; \`openssl rand -base64 32\` makes a key.`,
  );
