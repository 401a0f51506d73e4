// The thread that reads one PDF and ends: an entry of its own, in a bundle too. Twin of nothing; pdf.ts starts it.
import { parentPort, workerData } from "node:worker_threads";
import { getDocument } from "unpdf/pdfjs";
import type { PdfText } from "../../ports/files.ts";
import type { PdfTask } from "./pdf.ts";

const REASONS: Readonly<Record<string, string>> = {
  PasswordException: "is encrypted: it can be opened with its password only",
  InvalidPDFException: "is broken",
};

async function read({ content, pages, chars }: PdfTask): Promise<PdfText> {
  const loading = getDocument({ data: content, useSystemFonts: false, verbosity: 0 });
  const document = await loading.promise;
  const { numPages } = document;
  if (numPages > pages) return { ok: false, reason: `has ${numPages} pages; ${pages} are the most` };
  const pageTexts: string[] = [];
  let sum = 0;
  for (let n = 1; n <= numPages; n++) {
    const page = await document.getPage(n);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
    page.cleanup();
    sum += text.length;
    if (sum > chars) return { ok: false, reason: `has more than ${chars} characters of text` };
    pageTexts.push(text);
  }
  return { ok: true, pageTexts };
}

/** By name: the parser's classes are of its own module. */
function reasonOf(thrown: unknown): string {
  const { name = "", message = "" } = thrown instanceof Error ? thrown : {};
  return REASONS[name] ?? `is broken (${message.slice(0, 200) || "no reason given"})`;
}

const answer = await read(workerData as PdfTask).catch((thrown): PdfText => ({ ok: false, reason: reasonOf(thrown) }));
parentPort?.postMessage(answer);
