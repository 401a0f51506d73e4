/** A quote as an answer gives it, `"text" (file:line)`, and whether the file really says so. */
export interface CheckedQuote {
  readonly text: string;
  readonly file: string;
  readonly line: number;
  readonly ok: boolean;
  /** Only when it is not. */
  readonly why?: string;
}

export interface QuoteCheck {
  readonly quotes: readonly CheckedQuote[];
  /** There is at least one quote, and every quote is right: an answer without any has proved nothing. */
  readonly ok: boolean;
}

/** A straight quote ends at the next one, and its place follows it on the same line. */
const QUOTE = /"([^"\n]+)"\s\(([^()\n"]+):(\d+)\)/g;

/**
 * Checks each quote of an answer against the files: right is an exact substring of the line that it names, counted
 * from 1. `readLines` gives the lines of a file, or undefined for a file that is not there.
 */
export function checkQuotes(answer: string, readLines: (file: string) => readonly string[] | undefined): QuoteCheck {
  const quotes = [...answer.matchAll(QUOTE)].map(([, text = "", file = "", line = ""]) => {
    const why = mistake(text, file, Number(line), readLines(file));
    return { text, file, line: Number(line), ok: why === undefined, ...(why === undefined ? {} : { why }) };
  });
  return { quotes, ok: quotes.length > 0 && quotes.every((quote) => quote.ok) };
}

function mistake(text: string, file: string, line: number, lines: readonly string[] | undefined): string | undefined {
  if (lines === undefined) return `there is no file ${file}`;
  const said = lines[line - 1];
  if (said === undefined) return `${file} has ${lines.length} lines`;
  if (said.includes(text)) return undefined;
  const elsewhere = lines.findIndex((other) => other.includes(text));
  return elsewhere < 0 ? `${file} does not say this` : `${file} says this in line ${elsewhere + 1}`;
}
