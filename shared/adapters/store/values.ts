// Values on their way into jsonb columns and back (c1, c12, c17, c19): escaped where jsonb would refuse them, and cut down by moving what is large into blobs.
import { hash } from "../../core/digest.ts";
import { TorenError } from "../../core/errors.ts";
import { BLOB_KEY, fromStored, type Json, type JsonObject, toStored, utf8Bytes } from "../../core/json.ts";
import { PAYLOAD_INLINE_BYTES, PAYLOAD_MAX_BYTES } from "../../core/limits.ts";

export interface Blob {
  readonly hash: string;
  readonly bytes: number;
  /** JSON text in the stored form. */
  readonly text: string;
}

/** JSON text for a jsonb parameter: a string, so that the driver doesn't encode it a second time (c17). */
export interface Stored {
  readonly text: string;
  readonly bytes: number;
  /** What the text points to; written before it. */
  readonly blobs: readonly Blob[];
}

/**
 * An object's stored form; above `inlineBytes` its largest fields go to blobs until the rest is small.
 * @throws TorenError `payload.too_large` naming the size and the limit.
 */
export function storedObject(
  what: string,
  payload: Readonly<Record<string, Json | undefined>>,
  inlineBytes = PAYLOAD_INLINE_BYTES,
): Stored {
  const object = toStored(payload as JsonObject) as JsonObject;
  const whole = textOf(what, object);
  if (whole.bytes <= inlineBytes) return { ...whole, blobs: [] };
  const fields = Object.entries(object).map(([key, value]) => ({
    key,
    value,
    ...measured(JSON.stringify(value) ?? "null"),
  }));
  const slim: Record<string, Json> = { ...object };
  const blobs: Blob[] = [];
  let bytes = whole.bytes;
  for (const field of fields.sort((a, b) => b.bytes - a.bytes)) {
    if (bytes <= inlineBytes) break;
    const blob = blobOf(field);
    blobs.push(blob);
    slim[field.key] = pointer(blob);
    bytes += JSON.stringify(slim[field.key]).length - field.bytes;
  }
  return { ...measured(JSON.stringify(slim)), blobs };
}

/** Any value's stored form; one above `inlineBytes` lies in the blobs as a whole. @throws as storedObject. */
export function storedValue(what: string, value: Json, inlineBytes = PAYLOAD_INLINE_BYTES): Stored {
  const whole = textOf(what, toStored(value));
  if (whole.bytes <= inlineBytes) return { ...whole, blobs: [] };
  const blob = blobOf(whole);
  return { ...measured(JSON.stringify(pointer(blob))), blobs: [blob] };
}

const measured = (text: string) => ({ text, bytes: utf8Bytes(text) });
const blobOf = ({ text, bytes }: { text: string; bytes: number }): Blob => ({ hash: hash(text), bytes, text });
const pointer = (blob: Blob): JsonObject => ({ [BLOB_KEY]: blob.hash, bytes: blob.bytes });

function textOf(what: string, value: Json): { text: string; bytes: number } {
  const whole = measured(JSON.stringify(value));
  if (whole.bytes <= PAYLOAD_MAX_BYTES) return whole;
  throw new TorenError(
    "payload.too_large",
    `${what} has ${whole.bytes} bytes as JSON; at most ${PAYLOAD_MAX_BYTES} bytes (16 MiB) can be recorded.`,
  );
}

/** The hash that a stored value points to, if it does. */
function pointsTo(value: Json | undefined): string | null {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  const at = (value as JsonObject)[BLOB_KEY];
  return typeof at === "string" ? at : null;
}

/** Hashes that a stored value, or one of its fields, points to. */
export function pointers(value: Json): string[] {
  const whole = pointsTo(value);
  if (whole !== null) return [whole];
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [];
  return Object.values(value).flatMap((field) => pointsTo(field) ?? []);
}

/** The value as it was, its blobs put back. */
export function restored(value: Json, blobs: ReadonlyMap<string, Json>): Json {
  const found = (at: string): Json => {
    const content = blobs.get(at);
    if (content === undefined)
      throw new TorenError("bug", `The blob ${at} is missing: its run was erased, or the log was changed by hand.`);
    return content;
  };
  const whole = pointsTo(value);
  if (whole !== null) return fromStored(found(whole));
  if (pointers(value).length === 0) return fromStored(value);
  const fields = Object.entries(value as JsonObject).map(([key, field]) => {
    const at = pointsTo(field);
    return [key, at === null ? field : found(at)] as const;
  });
  return fromStored(Object.fromEntries(fields));
}
