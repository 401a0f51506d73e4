// Text of PDFs. A PDF is a program of a stranger's: it is read in a thread of its own, which can be ended when it takes too long or too much memory.
import { Worker } from "node:worker_threads";
import { messageOf } from "../../core/errors.ts";
import {
  PDF_PAGES_MAX,
  PDF_READ_HEAP_MB,
  PDF_READ_MEMORY_MB,
  PDF_READ_MS,
  PDF_READ_WATCH_MS,
  PDF_TEXT_MAX_CHARS,
} from "../../core/limits.ts";
import type { PdfText, ReadPdf } from "../../ports/files.ts";

export interface PdfBounds {
  readonly pages: number;
  readonly chars: number;
  readonly ms: number;
  readonly heapMb: number;
  readonly memoryMb: number;
}

const BOUNDS: PdfBounds = {
  pages: PDF_PAGES_MAX,
  chars: PDF_TEXT_MAX_CHARS,
  ms: PDF_READ_MS,
  heapMb: PDF_READ_HEAP_MB,
  memoryMb: PDF_READ_MEMORY_MB,
};

/** What the thread is given and what it answers (pdf-thread.ts). */
export interface PdfTask extends Pick<PdfBounds, "pages" | "chars"> {
  readonly content: Uint8Array;
}

/** One PDF at a time: the memory of several wouldn't be bounded by their number. */
export function createPdfReader(bounds: PdfBounds = BOUNDS): ReadPdf {
  let last: Promise<unknown> = Promise.resolve();
  return (content) => {
    const read = last.then(() => readInThread(content, bounds));
    last = read.catch(() => {}); // one that couldn't be begun keeps no other waiting
    return read;
  };
}

function readInThread(content: Uint8Array, bounds: PdfBounds): Promise<PdfText> {
  const task: PdfTask = { content, pages: bounds.pages, chars: bounds.chars };
  const thread = new Worker(new URL("./pdf-thread.ts", import.meta.url), {
    workerData: task,
    env: {},
    execArgv: [],
    stdout: true, // kept from ours: what the parser warns of is no concern of the process
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: bounds.heapMb },
  });
  return new Promise<PdfText>((resolve) => {
    const refuse = (reason: string): void => resolve({ ok: false, reason });
    const tooMuch = (mb: number): void => refuse(`takes more than ${mb} MB of memory to read`);
    const timer = setTimeout(() => refuse(`takes more than ${bounds.ms / 1_000} s to read`), bounds.ms);
    // Unpacked streams lie beside the heap, where its limit doesn't count them: some megabytes can unfold into gigabytes.
    const before = process.memoryUsage.rss();
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > bounds.memoryMb * 2 ** 20) tooMuch(bounds.memoryMb);
    }, PDF_READ_WATCH_MS);
    thread.once("message", resolve);
    thread.once("error", (thrown: Error & { code?: string }) =>
      thrown.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? tooMuch(bounds.heapMb)
        : refuse(`can't be read (${messageOf(thrown)})`),
    );
    thread.once("exit", () => {
      clearTimeout(timer);
      clearInterval(watch);
      refuse("can't be read (its reader ended)");
    });
  }).finally(() => thread.terminate());
}
