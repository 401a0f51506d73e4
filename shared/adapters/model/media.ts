// The files that a request shows, read and checked before a provider sees them: what it would refuse becomes a sentence instead, so that one odd file
// never ends a conversation. What is said here is not digested: the request's digest covers which file was to be shown (core/messages.ts).
import { wellFormed } from "../../core/json.ts";
import { FILE_SIGNATURE_BYTES } from "../../core/limits.ts";
import type { AssistantPart, MediaPart, Message } from "../../core/messages.ts";
import type { AskContext } from "../../ports/model.ts";

/** What a provider takes. Bytes are those of the files themselves; for limits on base64 text see `bytesInBase64`. */
export interface MediaLimits {
  /** Media types of images, such as `image/png`; none: the model sees no images. */
  readonly imageTypes: readonly string[];
  readonly imageMaxBytes: number;
  readonly pdf: boolean;
  readonly pdfMaxBytes: number;
  /** Of all files of one request. The newest go first. */
  readonly totalMaxBytes: number;
  readonly filesMax: number;
}

/** A file that may be sent. `mediaType` is what its content says, not its name: providers compare. */
export interface ShownFile {
  readonly type: "file";
  readonly kind: MediaPart["kind"];
  readonly mediaType: string;
  readonly name: string;
  readonly content: Uint8Array;
}
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}
export interface ReadyToolResult {
  readonly type: "toolResult";
  readonly toolUseId: string;
  readonly text: string;
  readonly isError: boolean;
  /** What the tool showed, after its text; empty: nothing. */
  readonly shown: readonly (ShownFile | TextPart)[];
}

/** A message whose files are read, or said in words. */
export type ReadyMessage =
  | { readonly role: "user"; readonly content: readonly (TextPart | ShownFile | ReadyToolResult)[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantPart[] };

/** The most bytes whose base64 text has at most `chars` characters. */
export const bytesInBase64 = (chars: number): number => Math.floor(chars / 4) * 3;

/**
 * All messages, each file read once. Newest first: where limits on the whole request bind, what was shown long ago is said in words.
 * @throws what `media` throws: a database that is away.
 */
export async function readMedia(
  messages: readonly Message[],
  limits: MediaLimits,
  media: AskContext["media"] | undefined,
): Promise<ReadyMessage[]> {
  const show = createReader(limits, media);
  const ready: ReadyMessage[] = [];
  for (const message of messages.toReversed()) ready.push(await readyMessage(message, show));
  return ready.reverse();
}

type Show = (part: MediaPart) => Promise<ShownFile | TextPart>;

async function readyMessage(message: Message, show: Show): Promise<ReadyMessage> {
  if (message.role === "assistant") return message;
  const content: (TextPart | ShownFile | ReadyToolResult)[] = [];
  for (const part of message.content) {
    if (part.type === "media") content.push(await show(part));
    else if (part.type === "text") content.push(part);
    else {
      const { type, toolUseId, text, isError, media = [] } = part;
      const shown: (ShownFile | TextPart)[] = [];
      for (const file of media) shown.push(await show(file));
      content.push({ type, toolUseId, text, isError, shown });
    }
  }
  return { role: "user", content };
}

/** Counts what it let through: two requests need two. */
function createReader(limits: MediaLimits, media: AskContext["media"] | undefined): Show {
  const contents = new Map<string, Uint8Array | null>();
  let files = 0;
  let bytes = 0;

  const read = async (fileId: string): Promise<Uint8Array | null> => {
    const known = contents.get(fileId);
    if (known !== undefined) return known;
    const content = (await media?.(fileId)) ?? null;
    contents.set(fileId, content);
    return content;
  };

  return async (part) => {
    const { kind, name } = part;
    const unseen = kind === "image" ? limits.imageTypes.length === 0 : !limits.pdf;
    if (unseen) return inWords(part, kind === "image" ? "this model sees no images" : "this model takes no PDFs");
    if (files >= limits.filesMax) return inWords(part, `one request shows ${limits.filesMax} files at most`);
    if (bytes >= limits.totalMaxBytes) return inWords(part, tooMuch(limits));
    const content = await read(part.fileId);
    if (content === null) return inWords(part, "its content is gone");
    const refused = refusal(kind, content, limits);
    if (refused !== null) return inWords(part, refused);
    if (bytes + content.byteLength > limits.totalMaxBytes) return inWords(part, tooMuch(limits));
    files++;
    bytes += content.byteLength;
    return { type: "file", kind, mediaType: mediaTypeOf(content) ?? part.mediaType, name, content };
  };
}

const tooMuch = (limits: MediaLimits): string =>
  `the files of one request may have ${megabytes(limits.totalMaxBytes)} together, and newer ones went first`;

/** Why this content can't be sent, as the end of a sentence; null: it can. */
function refusal(kind: MediaPart["kind"], content: Uint8Array, limits: MediaLimits): string | null {
  if (content.byteLength === 0) return "it is empty";
  const found = mediaTypeOf(content);
  if (kind === "pdf" && found !== "application/pdf") return "its content is no PDF";
  if (kind === "image" && (found === null || !limits.imageTypes.includes(found)))
    return `its content is none of ${limits.imageTypes.join(", ")}`;
  const most = kind === "pdf" ? limits.pdfMaxBytes : limits.imageMaxBytes;
  if (content.byteLength <= most) return null;
  return `its ${megabytes(content.byteLength)} are over the limit of ${megabytes(most)}`;
}

/** What stands in a request where a file should have been shown. `reason` ends the sentence. */
export const inWords = ({ kind, name }: Pick<MediaPart, "kind" | "name">, reason: string): TextPart => ({
  type: "text",
  text: `(${kind === "pdf" ? "A PDF" : "An image"}, ${JSON.stringify(wellFormed(name))}, can't be shown here: ${reason}.)`,
});

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;

const SIGNATURES: readonly (readonly [mediaType: string, pattern: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF....WEBP/s],
  ["application/pdf", /%PDF-/], // readers allow some bytes before it
];
/** By the content's first bytes; null: nothing that a model looks at. */
export function mediaTypeOf(content: Uint8Array): string | null {
  const start = Buffer.from(content.subarray(0, FILE_SIGNATURE_BYTES)).toString("latin1");
  return SIGNATURES.find(([, pattern]) => pattern.test(start))?.[0] ?? null;
}
