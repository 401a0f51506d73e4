// Attached files as text: what tools read and quote. Lines are counted as editors and grep count them, so that a quote can be checked at its place.
import { TorenError } from "./errors.ts";

export type DecodedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** A share of NULs that no text has; single ones occur in logs and are kept (c1). */
const NUL_SHARE_MAX = 0.01;
/** Of bytes beyond ASCII: texts in Latin letters have far fewer, texts in two-byte encodings more. */
const HIGH_SHARE_MAX = 0.5;
/**
 * Of letters beyond ASCII, those that follow another one. In Latin letters they stand alone or, rarely, in pairs; Cyrillic and Greek words consist of them,
 * and would be read as nonsense.
 */
const IN_A_ROW_SHARE_MAX = 0.6;
const SNIFF_BYTES = 8 * 1024;
/** PDFs are found as their readers find them: with some bytes of mail or web headers before. */
const PDF_SNIFF_BYTES = 1024;

/** What the first bytes say. `media` null: it is neither text nor something that can be attached. */
export type Magic = { readonly media: string | null; readonly what: string };

const MAGIC: readonly (readonly [prefix: string, media: string | null, what: string])[] = [
  ["\u0089PNG", "image/png", "a PNG image"],
  ["\u00FF\u00D8\u00FF", "image/jpeg", "a JPEG image"],
  ["GIF8", "image/gif", "a GIF image"],
  ["PK\u0003\u0004", null, "a ZIP archive (or an office document, which is one)"],
  ["\u001F\u008B", null, "gzip data"],
];

/** Null: nothing is known of these bytes, so they may be text. */
export function magicOf(bytes: Uint8Array): Magic | null {
  const start = String.fromCharCode(...bytes.subarray(0, PDF_SNIFF_BYTES));
  const magic = MAGIC.find(([prefix]) => start.startsWith(prefix));
  if (magic !== undefined) return { media: magic[1], what: magic[2] };
  if (/^RIFF.{4}WEBP/s.test(start)) return { media: "image/webp", what: "a WebP image" };
  // Further in, "%PDF-" may be a text that speaks of PDFs: there it needs a line of its own.
  return /^%PDF-|[\r\n]%PDF-\d\.\d[\r\n]/.test(start) ? { media: PDF, what: "a PDF" } : null;
}

/** Where an image of this type ends, unless it was cut off on its way: what a provider refuses is refused before it is part of a conversation. */
export function isWholeImage(media: string, bytes: Uint8Array): boolean {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (media) {
    case "image/png":
      return content.lastIndexOf("IEND", undefined, "latin1") > 8;
    case "image/jpeg":
      return content.lastIndexOf("\u00FF\u00D9", undefined, "latin1") > 2;
    case "image/gif":
      return content.lastIndexOf(";", undefined, "latin1") > 12;
    default:
      return content.byteLength >= 12 && content.readUInt32LE(4) + 8 <= content.byteLength; // RIFF says its own length
  }
}

export const PDF = "application/pdf";

/** By a byte order mark (UTF-8, UTF-16), which isn't part of the text; else UTF-8; else, where the bytes look like text, Windows-1252, which holds Latin-1. */
export function decodeText(bytes: Uint8Array): DecodedText {
  const decoded = decodeUnicode(bytes);
  return decoded.ok || decoded.reason !== NOT_UTF8 ? decoded : decodeCodePage(bytes);
}

const NOT_UTF8 = "it is not valid UTF-8";

/** For what is written for Toren itself: agent.yaml, prompts, inputs. A code page is guessed for nobody's prompt. */
export function decodeUnicode(bytes: Uint8Array): DecodedText {
  const magic = magicOf(bytes);
  if (magic?.media?.startsWith("image/"))
    return { ok: false, reason: `it is ${magic.what}, and images can't be read in this version` };
  if (magic !== null) return { ok: false, reason: `it is ${magic.what}` };
  const utf16 = utf16Of(bytes);
  if (utf16 === null && nulShare(bytes.subarray(0, SNIFF_BYTES)) > NUL_SHARE_MAX)
    return { ok: false, reason: "it is binary data" };
  const text = decodedAs(utf16 ?? "utf-8", bytes);
  if (text !== null) return { ok: true, text };
  return { ok: false, reason: utf16 === null ? NOT_UTF8 : `it is not valid ${utf16.toUpperCase()}` };
}

function utf16Of([first, second]: Uint8Array): "utf-16le" | "utf-16be" | null {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : null;
}

/** Without marks one code page looks like another, so it is the commonest or none. */
function decodeCodePage(bytes: Uint8Array): DecodedText {
  let high = 0;
  let letters = 0;
  let inARow = 0;
  let before = 0;
  for (const byte of bytes) {
    if (isControl(byte) || UNASSIGNED.has(byte)) return { ok: false, reason: "it is binary data" };
    if (byte >= 0x80) high++;
    if (byte >= FIRST_LETTER) letters++;
    if (byte >= FIRST_LETTER && before >= FIRST_LETTER) inARow++;
    before = byte;
  }
  const foreign = high > HIGH_SHARE_MAX * bytes.length || inARow > IN_A_ROW_SHARE_MAX * letters;
  const text = foreign ? null : decodedAs("windows-1252", bytes);
  return text === null
    ? { ok: false, reason: "it is in an encoding that can't be told: save it as UTF-8" }
    : { ok: true, text };
}

const FIRST_LETTER = 0xc0;
/** Of Windows-1252. */
const UNASSIGNED: ReadonlySet<number> = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
/** But tab, line feed, vertical tab, form feed, carriage return and escape, which texts and logs hold. */
const isControl = (byte: number): boolean =>
  (byte < 0x20 && (byte < 0x09 || byte > 0x0d) && byte !== 0x1b) || byte === 0x7f;

function decodedAs(encoding: string, bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** A file that isn't text was asked for as text. The message is for models too. */
export class NotText extends TorenError {
  constructor(name: string, reason: string) {
    super("file.unreadable", `${name} can't be read as text: ${reason}`);
    this.name = "NotText";
  }
}

/** What `ToolContext.files.text` answers. @throws NotText */
export function textOf(name: string, bytes: Uint8Array): string {
  const decoded = decodeText(bytes);
  if (!decoded.ok) throw new NotText(name, decoded.reason);
  return decoded.text;
}

/** Between the pages of a PDF's text, as pdftotext has it. */
const PAGE_BREAK = "\f";

/** A PDF's pages as one text that Postgres can keep: well-formed, without NULs, and without form feeds but those between pages. */
export const joinPages = (pages: readonly string[]): string =>
  pages.map((page) => page.replaceAll(PAGE_BREAK, " ").replaceAll("\u0000", "").toWellFormed()).join(PAGE_BREAK);

/** Page 1 is the first item. */
export const pagesOf = (text: string): string[] => text.split(PAGE_BREAK);

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
