// Digests of what a model is asked (I6). A compatibility contract: test/vectors/digests.json holds golden values, which are never edited without a new
// version prefix; an old version stays verifiable for as long as a log can hold it.
import { createHash } from "node:crypto";
import { canonical, type Json } from "./json.ts";

export const DIGEST_VERSION = "d1";

/** sha-256 over canonical JSON, as `d1:` and base64url. */
export const digestOf = (value: Json): string => `${DIGEST_VERSION}:${hash(canonical(value))}`;

/** The chain's next value: what was before, and one message more. So a step costs what is new in it, not its whole history. */
export const chain = (before: string, message: Json): string =>
  `${DIGEST_VERSION}:${hash(`${before}\n${canonical(message)}`)}`;

/** A content key that isn't part of the request contract: blobs, idempotency keys, code. */
export const hash = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("base64url");
