// Attached files as text: what tools read and quote. Lines are counted as editors and grep count them, so that a quote can be checked at its place.
import { TorenError } from "./errors.ts";

export type DecodedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** A share of NULs that no text has; single ones occur in logs and are kept (c1). */
const NUL_SHARE_MAX = 0.01;
const SNIFF_BYTES = 8 * 1024;

const MAGIC: readonly (readonly [prefix: string, what: string])[] = [
  ["%PDF-", "a PDF"],
  ["\u0089PNG", "a PNG image"],
  ["\u00FF\u00D8\u00FF", "a JPEG image"],
  ["GIF8", "a GIF image"],
  ["PK\u0003\u0004", "a ZIP archive (or an office document, which is one)"],
  ["\u001F\u008B", "gzip data"],
];

/** UTF-8, or what a byte order mark says (UTF-8, UTF-16); the mark isn't part of the text. */
export function decodeText(bytes: Uint8Array): DecodedText {
  const start = String.fromCharCode(...bytes.subarray(0, 8));
  const magic = MAGIC.find(([prefix]) => start.startsWith(prefix));
  if (magic !== undefined) return { ok: false, reason: `it is ${magic[1]}` };
  const encoding = start.startsWith("\u00FF\u00FE")
    ? "utf-16le"
    : start.startsWith("\u00FE\u00FF")
      ? "utf-16be"
      : "utf-8";
  if (encoding === "utf-8" && nulShare(bytes.subarray(0, SNIFF_BYTES)) > NUL_SHARE_MAX)
    return { ok: false, reason: "it is binary data" };
  try {
    return { ok: true, text: new TextDecoder(encoding, { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, reason: `it is not valid ${encoding.toUpperCase()}` };
  }
}

/** A file that isn't text was asked for as text. The message is for models too. */
export class NotText extends TorenError {
  constructor(name: string, reason: string) {
    super("file.unknown", `${name} can't be read as text: ${reason}`);
    this.name = "NotText";
  }
}

/** What `ToolContext.files.text` answers. @throws NotText */
export function textOf(name: string, bytes: Uint8Array): string {
  const decoded = decodeText(bytes);
  if (!decoded.ok) throw new NotText(name, decoded.reason);
  return decoded.text;
}

/** Line 1 is the first item. A newline at the end doesn't begin another line; an empty text has none. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** At most `max` code units from `from` on, never through a surrogate pair (c2). */
export function sliceText(text: string, from: number, max: number): string {
  const start = isLowSurrogate(text, from) ? from + 1 : from;
  const end = from + max;
  return text.slice(start, isLowSurrogate(text, end) ? end - 1 : end);
}

const isLowSurrogate = (text: string, at: number): boolean =>
  at > 0 && (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;

const nulShare = (bytes: Uint8Array): number =>
  bytes.length === 0 ? 0 : bytes.reduce((n, byte) => (byte === 0 ? n + 1 : n), 0) / bytes.length;
