// Files as Converse takes them: an image by its format, a PDF as a document with a name under Bedrock's rules, unlike any other of the request.
import type { ContentBlock } from "@aws-sdk/client-bedrock-runtime";
import {
  BEDROCK_DOCUMENT_NAME_CHARS,
  BEDROCK_FILES_MAX,
  BEDROCK_FILES_MAX_BYTES,
  BEDROCK_IMAGE_MAX_BYTES,
  BEDROCK_PDFS_MAX,
} from "../../../core/limits.ts";
import type { Message } from "../../../core/messages.ts";
import type { AskContext } from "../../../ports/model.ts";
import { inWords, type MediaLimits, type ReadyMessage, readMedia, type ShownFile, type TextPart } from "../media.ts";
import type { Traits } from "./traits.ts";

export type ImageBlock = ContentBlock.ImageMember;
export type DocumentBlock = ContentBlock.DocumentMember;

const IMAGE_FORMATS: Readonly<Record<string, "png" | "jpeg" | "gif" | "webp">> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

/** The conversation with what may be shown of its files; of PDFs BEDROCK_PDFS_MAX, those of the newest messages. */
export async function readFiles(
  messages: readonly Message[],
  traits: Traits,
  media: AskContext["media"] | undefined,
): Promise<ReadyMessage[]> {
  const limits: MediaLimits = {
    imageTypes: traits.images ? Object.keys(IMAGE_FORMATS) : [],
    imageMaxBytes: BEDROCK_IMAGE_MAX_BYTES,
    pdf: traits.pdf,
    pdfMaxBytes: traits.pdfMaxBytes,
    totalMaxBytes: BEDROCK_FILES_MAX_BYTES,
    filesMax: BEDROCK_FILES_MAX,
  };
  const ready = await readMedia(messages, limits, media);
  let pdfs = 0;
  const counted = <P extends { readonly type: string }>(part: P | ShownFile): P | ShownFile | TextPart => {
    if (!isFile(part) || part.kind !== "pdf" || ++pdfs <= BEDROCK_PDFS_MAX) return part;
    return inWords(part, `one request shows ${BEDROCK_PDFS_MAX} PDFs at most, and newer ones went first`);
  };
  const newestFirst = ready.toReversed().map((message): ReadyMessage => {
    if (message.role === "assistant") return message;
    const content = message.content.map((part) =>
      part.type === "toolResult" ? { ...part, shown: part.shown.map(counted<TextPart>) } : counted<TextPart>(part),
    );
    return { role: "user", content };
  });
  return newestFirst.reverse();
}

const isFile = (part: { readonly type: string }): part is ShownFile => part.type === "file";

/** Makes the blocks of one request: it remembers which names are taken, and which block shows which file. */
export interface FileBlocks {
  readonly shown: ReadonlyMap<object, ShownFile>;
  of(file: ShownFile): (ContentBlock.TextMember | ImageBlock | DocumentBlock)[];
}

/** `refused`: files that are said in words, because Bedrock refused them. */
export function createFileBlocks(refused: ReadonlySet<ShownFile>): FileBlocks {
  const taken = new Set<string>();
  const shown = new Map<object, ShownFile>();
  const of: FileBlocks["of"] = (file) => {
    if (refused.has(file)) return [{ text: inWords(file, "the provider refused it").text }];
    const { kind, mediaType, name, content } = file;
    const format = IMAGE_FORMATS[mediaType];
    if (kind === "image" && format !== undefined) {
      const image = { image: { format, source: { bytes: content } } };
      shown.set(image, file);
      return [image];
    }
    const label = documentName(name, taken);
    const document = { document: { format: "pdf" as const, name: label, source: { bytes: content } } };
    shown.set(document, file);
    // Bedrock wants words beside a document; and the model must find it under the name that people use.
    return [{ text: `The file ${JSON.stringify(name.toWellFormed())} is the document "${label}":` }, document];
  };
  return { shown, of };
}

/** Letters, digits, single spaces, hyphens and brackets of both kinds; compared without case. */
function documentName(name: string, taken: Set<string>): string {
  const plain = name
    .replace(/\.[^.]*$/, "")
    .replace(/[^a-zA-Z0-9\-()[\]]+/g, " ")
    .trim();
  const base = plain === "" ? "document" : plain.slice(0, BEDROCK_DOCUMENT_NAME_CHARS - 10).trim();
  let label = base;
  for (let n = 2; taken.has(label.toLowerCase()); n++) label = `${base} (${n})`;
  taken.add(label.toLowerCase());
  return label;
}
