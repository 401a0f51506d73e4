// Files as OpenAI takes them: an image by a data URL, a PDF under its name.
import { messageOf } from "../../../core/errors.ts";
import {
  DOCUMENT_TITLE_CHARS,
  OPENAI_FILES_BASE64_CHARS,
  OPENAI_FILES_MAX,
  OPENAI_IMAGE_MAX_BYTES,
} from "../../../core/limits.ts";
import type { Message } from "../../../core/messages.ts";
import type { AskContext, ModelFailure } from "../../../ports/model.ts";
import { failure } from "../failure.ts";
import { bytesInBase64, type MediaLimits, type ReadyMessage, readMedia, type ShownFile } from "../media.ts";
import { stopped } from "./failures.ts";
import { familyOf } from "./families.ts";
import { paired } from "./pairs.ts";

/** What isn't known to be refused is tried: a refusal costs nothing, and the file is said in words then. */
export function mediaLimits(model: string, pdf: boolean): MediaLimits {
  const all = bytesInBase64(OPENAI_FILES_BASE64_CHARS);
  const sees = familyOf(model)?.images ?? true;
  return {
    imageTypes: sees ? ["image/png", "image/jpeg", "image/webp", "image/gif"] : [],
    imageMaxBytes: OPENAI_IMAGE_MAX_BYTES,
    pdf: pdf && sees, // its pages are shown as images too
    pdfMaxBytes: all,
    totalMaxBytes: all,
    filesMax: OPENAI_FILES_MAX,
  };
}

type Read =
  | { readonly ok: true; readonly messages: readonly ReadyMessage[] }
  | { readonly ok: false; readonly failure: ModelFailure };

/** The conversation in pairs, its files read. A database that is away is a failure like others. */
export async function readFiles(
  messages: readonly Message[],
  limits: MediaLimits,
  signal: AbortSignal,
  { media }: AskContext,
): Promise<Read> {
  try {
    return { ok: true, messages: await readMedia(paired(messages), limits, media) };
  } catch (thrown) {
    const words = `A file of the request could not be read: ${messageOf(thrown)}`;
    return { ok: false, failure: signal.aborted ? stopped() : failure("model.unavailable", words, true) };
  }
}

export const dataUrl = ({ mediaType, content }: ShownFile): string =>
  `data:${mediaType};base64,${Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64")}`;

/** Without folders: it is a label, whatever somebody uploaded. */
export function fileName({ name }: ShownFile): string {
  const label = (name.split(/[\\/]/).at(-1) ?? "").slice(-DOCUMENT_TITLE_CHARS).toWellFormed().trim();
  return label === "" ? "document.pdf" : label;
}

/** Stands before what a tool showed, where a tool's result can only hold text. */
export const shownBy = (toolUseId: string): string => `(What the tool call ${toolUseId} shows follows.)`;
