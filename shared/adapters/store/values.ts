// Values on their way into jsonb columns and back (c1, c12, c17, c19): escaped where jsonb would refuse them, cut down by moving what is large into blobs, and
// in runs that are sealed, content sealed last.
import { contentOfEvent } from "../../core/content.ts";
import { hash } from "../../core/digest.ts";
import { TorenError } from "../../core/errors.ts";
import { BLOB_KEY, fromStored, type Json, type JsonObject, toStored, utf8Bytes } from "../../core/json.ts";
import { PAYLOAD_INLINE_BYTES, PAYLOAD_MAX_BYTES } from "../../core/limits.ts";
import { type SealsText, sealed, sealedApart } from "../../core/sealing.ts";
import type { NewEvent } from "../../ports/store.ts";

export interface Blob {
  readonly hash: string;
  /** Of the value. */
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

/** How a value is sealed: at these paths (core/content.ts), or as a whole (`""`) under the name of its place. Null: its run is plain. */
export type Sealing = { readonly key: SealsText; readonly paths: readonly string[]; readonly place?: string } | null;

/** What goes into the column, where nothing of it is too large. */
const inline = (whole: Measured, value: Json, sealing: Sealing): Measured =>
  sealing === null ? whole : measured(JSON.stringify(sealed(value, sealing.paths, sealing.key, sealing.place)));

/** Blobs are sealed as a whole, whatever they hold: no statement looks into them. Their hash is that of the value, so that equal ones are kept once. */
function shutBlob(blob: Blob, sealing: Sealing): Blob {
  if (sealing === null) return blob;
  const value = sealed(JSON.parse(blob.text) as Json, [""], sealing.key, blobPlace(blob.hash));
  return { ...blob, text: JSON.stringify(value) };
}

export const blobPlace = (hash: string): string => `blob ${hash}`;

/**
 * An object's stored form; above `inlineBytes` its largest fields go to blobs until the rest is small.
 * @throws TorenError `payload.too_large` naming the size and the limit.
 */
export function storedObject(
  what: string,
  payload: Readonly<Record<string, Json | undefined>>,
  inlineBytes = PAYLOAD_INLINE_BYTES,
  sealing: Sealing = null,
): Stored {
  const object = toStored(payload as JsonObject) as JsonObject;
  const whole = textOf(what, object);
  if (whole.bytes <= inlineBytes) return { ...inline(whole, object, sealing), blobs: [] };
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
    blobs.push(shutBlob(blob, sealing));
    slim[field.key] = pointer(blob);
    bytes += JSON.stringify(slim[field.key]).length - field.bytes;
  }
  return { ...inline(measured(JSON.stringify(slim)), slim, sealing), blobs };
}

/** Any value's stored form; one above `inlineBytes` lies in the blobs as a whole. @throws as storedObject. */
export function storedValue(
  what: string,
  value: Json,
  inlineBytes = PAYLOAD_INLINE_BYTES,
  sealing: Sealing = null,
): Stored {
  const stored = toStored(value);
  const whole = textOf(what, stored);
  if (whole.bytes <= inlineBytes) return { ...inline(whole, stored, sealing), blobs: [] };
  const blob = blobOf(whole);
  return { ...measured(JSON.stringify(pointer(blob))), blobs: [shutBlob(blob, sealing)] };
}

/** An event's payload; `key` null: its run is plain. @throws as storedObject. */
export function storedEvent(event: NewEvent, key: SealsText | null, inlineBytes = PAYLOAD_INLINE_BYTES): Stored {
  const sealing = key === null ? null : { key, paths: contentOfEvent(event.type, event.payload) };
  return storedObject(`The event ${event.type}`, event.payload, inlineBytes, sealing);
}

/** A value that is content as a whole; `place`: its column's name. @throws as storedObject. */
export const storedContent = (
  what: string,
  value: Json,
  place: string,
  key: SealsText | null,
  inlineBytes = PAYLOAD_INLINE_BYTES,
): Stored => storedValue(what, value, inlineBytes, key === null ? null : { key, paths: [""], place });

/** A value that belongs to no run, sealed with a key of its own that stands beside it. @throws as storedObject. */
export function storedApart(what: string, value: Json, place: string, key: SealsText | null): Stored {
  const stored = toStored(value);
  const whole = textOf(what, stored);
  return { ...(key === null ? whole : measured(JSON.stringify(sealedApart(stored, key, place)))), blobs: [] };
}

interface Measured {
  readonly text: string;
  readonly bytes: number;
}
const measured = (text: string): Measured => ({ text, bytes: utf8Bytes(text) });
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
