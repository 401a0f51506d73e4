// The door for files: what can't be used is refused here with the reason, and nothing of it is stored (c20).
import { TorenError } from "../core/errors.ts";
import { FILE_MAX_BYTES } from "../core/limits.ts";
import { decodeText, isWholeImage, magicOf, PDF } from "../core/text-files.ts";
import type { FileInfo, Files, NewFile, ReadPdf } from "../ports/files.ts";

export interface AddFileDeps {
  readonly files: Pick<Files, "add">;
  readonly readPdf: ReadPdf;
}

const UNTOLD_TYPE = "application/octet-stream";

/**
 * Adds a file that tools can read (text, or a PDF with its pages), or an image. The bytes say what it is; a name or type that says otherwise doesn't count,
 * but that a broken PDF isn't taken for text.
 * @throws TorenError `file.unreadable`, `request.too_large`
 */
export async function addFile(deps: AddFileDeps, file: Omit<NewFile, "pageTexts">): Promise<FileInfo> {
  const { name, content } = file;
  const refused = (reason: string): TorenError =>
    new TorenError("file.unreadable", `The file "${name}" can't be used: ${reason}.`);
  if (content.byteLength === 0) throw refused("it is empty");
  if (content.byteLength > FILE_MAX_BYTES)
    throw new TorenError(
      "request.too_large",
      `The file "${name}" has ${content.byteLength} bytes; ${FILE_MAX_BYTES} is the most.`,
    );
  const magic = magicOf(content);
  if (magic?.media === PDF) {
    const read = await deps.readPdf(content);
    if (!read.ok) throw refused(`it is a PDF that ${read.reason}`);
    return deps.files.add({ ...file, mediaType: PDF, pageTexts: read.pageTexts });
  }
  if (isCalledPdf(file)) throw refused("it is called a PDF, but isn't one");
  if (magic !== null) {
    if (magic.media === null) throw refused(`it is ${magic.what}; ${ADMITTED}`);
    if (!isWholeImage(magic.media, content)) throw refused(`it is ${magic.what} that is cut off`);
    return deps.files.add({ ...file, mediaType: magic.media });
  }
  const text = decodeText(content);
  if (!text.ok) throw refused(`${text.reason}; ${ADMITTED}`);
  return deps.files.add({ ...file, mediaType: textType(file.mediaType) });
}

const ADMITTED = "text, PDFs and images (PNG, JPEG, GIF, WebP) can be attached";

const isCalledPdf = ({ name, mediaType }: Omit<NewFile, "pageTexts">): boolean =>
  name.toLowerCase().endsWith(".pdf") || mediaType.toLowerCase().startsWith(PDF);

const textType = (said: string): string => (said.trim() === "" || said === UNTOLD_TYPE ? "text/plain" : said);
