// API keys: `toren_` + 32 random characters + 6 of checksum. The checksum refuses garbage and typing errors before anything else is looked at.
// Web Crypto only: the same code runs wherever the app does.

const PREFIX = "toren_";
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS = 32;
const CHECKSUM_CHARS = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_CHARS + CHECKSUM_CHARS}}$`);

/** CRC-32 (ISO 3309): it only has to catch accidents; what it guards is secret by its 190 random bits. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function checksum(random: string): string {
  let rest = crc32(random);
  let text = "";
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}

/** A new key. Bytes past the last multiple of 62 are thrown away, so that every character is equally likely. */
export function newKey(): string {
  let random = "";
  while (random.length < RANDOM_CHARS) {
    for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_CHARS))) {
      if (byte < 248 && random.length < RANDOM_CHARS) random += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return PREFIX + random + checksum(random);
}

/**
 * The key made of random text that somebody else has made: 32 letters and digits. A text that is a key already is that key.
 * @throws for any other text: it would be a key that can be guessed.
 */
export function keyOf(text: string): string {
  if (isKey(text)) return text;
  if (text.length !== RANDOM_CHARS || [...text].some((char) => !ALPHABET.includes(char)))
    throw new Error(`The text for a key must be ${RANDOM_CHARS} random letters and digits.`);
  return PREFIX + text + checksum(text);
}

/** Whether the text could be a key at all. */
export function isKey(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const random = text.slice(PREFIX.length, PREFIX.length + RANDOM_CHARS);
  return text.slice(PREFIX.length + RANDOM_CHARS) === checksum(random);
}

const digest = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));

/** Compares in a time that depends on neither text: both are hashed, and every byte is looked at. */
export async function sameSecret(a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([digest(a), digest(b)]);
  let different = 0;
  for (const [i, byte] of left.entries()) different |= byte ^ (right[i] ?? 0xff);
  return different === 0;
}

/** The key of an `Authorization` header; null: none, or another scheme. */
export function bearer(header: string | undefined): string | null {
  const match = /^Bearer +(\S+) *$/i.exec(header ?? "");
  return match?.[1] ?? null;
}
