import { MAX_QUOTES_PER_TOPIC_COUNT, MAX_RESULT_CHARS, MAX_SENTENCE_CHARS } from "./limits.ts";
import { type Passage, readPassages } from "./passages.ts";
import { type QuoteGroup, showQuote } from "./quotes.ts";
import { type Candidate, rank } from "./ranking.ts";
import { inReadingOrder, select } from "./selection.ts";
import { isQuotable } from "./sentences.ts";
import { keyPhrase, keyTerms, stems } from "./words.ts";

/** A quote has to share so many of the question's terms, or all of them if there are fewer. */
const LEAST_SHARED_TERMS_COUNT = 2;

/** Sentences of the passages that answer a question, each verbatim, with its place. */
export function answerFromPassages(question: string, passages: readonly Passage[]): string {
  const chosen = select(relevant(question, rank(question, passages)), MAX_QUOTES_PER_TOPIC_COUNT);
  if (chosen.length === 0) return nothingFound(question);
  return [leadIn(question), "", ...inReadingOrder(chosen).map(showQuote)].join("\n");
}

/** An answer built of quotes that others found: a lead-in for each topic, its best quotes, the files they are from. */
export function answerFromNotes(question: string, groups: readonly QuoteGroup[]): string {
  const sections = groups.map(({ label, quotes }) => {
    const topic = label.length > 0 ? label : question;
    const found = quotes.filter((quote) => isQuotable(quote.text));
    // Whoever wrote the notes chose already: only where there are too many is chosen again.
    const fits = found.length <= MAX_QUOTES_PER_TOPIC_COUNT;
    return { topic, shown: fits ? found : inReadingOrder(select(rank(topic, found), MAX_QUOTES_PER_TOPIC_COUNT)) };
  });
  const files = new Set(sections.flatMap(({ shown }) => shown.map((quote) => quote.file)));
  const body = sections.flatMap(({ topic, shown }) =>
    shown.length === 0 ? [nothingFound(topic), ""] : [leadIn(topic), "", ...shown.map(showQuote), ""],
  );
  return [...body, ...(files.size > 0 ? ["Sources:", ...[...files].map((file) => `- ${file}`)] : [])].join("\n").trim();
}

export interface ToolResult {
  readonly tool: string;
  readonly text: string;
}

/** What tools said that shows no files: it is passed on. A listing, or an empty result, is no answer to anything. */
export function answerFromResults(question: string, results: readonly ToolResult[]): string {
  const telling = results.filter(({ text }) => text.length <= MAX_RESULT_CHARS && !isSilent(text));
  if (telling.length === 0) return nothingFound(question);
  return telling.map(({ tool, text }) => `${tool} answered: ${text}`).join("\n");
}

function isSilent(text: string): boolean {
  return /^[\s[\]{}]*$/.test(text) || readPassages([text]).files.length > 0;
}

/** What the user said before in this conversation that bears on the question, the last of it; null: nothing did. A question says nothing. */
export function answerFromConversation(question: string, lines: readonly string[]): string | null {
  const said = lines.map((line) => line.replace(/^- /, "").trim()).filter((line) => !line.endsWith("?")); // a summary lists them
  const asked = new Set(stems(question));
  const shared = (text: string): number => new Set(stems(text).filter((word) => asked.has(word))).size;
  const best = Math.max(0, ...said.map(shared));
  if (best === 0) return null;
  const text = said.findLast((earlier) => shared(earlier) === best) ?? "";
  return `You said before: "${text.replace(/\s+/g, " ").trim().slice(0, MAX_SENTENCE_CHARS)}"`;
}

/** What is said when there is nothing to work on. */
export function restatement(text: string): string {
  const about = keyPhrase(text);
  return `This answer comes from a rule-based model, which can only quote what it is given, and was given nothing to quote. It was asked about: ${about}.`;
}

function nothingFound(question: string): string {
  return `Nothing was found in what was read about this: ${keyPhrase(question)}.`;
}

function leadIn(topic: string): string {
  const flat = topic.replace(/\s+/g, " ").replace(/[\s.:;?!]+$/, "");
  const asks =
    /^(?:how|what|why|when|where|which|who|whose|is|are|do|does|did|can|could|may|must|should|will|would)\b/i.test(
      flat,
    );
  return asks ? `${flat}? The sources say:` : `On ${uncapitalised(keyPhrase(flat))}, the sources say:`;
}

/** `Base backups` in the middle of a sentence is `base backups`, but `WAL` stays `WAL`. */
function uncapitalised(text: string): string {
  return /^\p{Lu}\p{Ll}/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

function relevant(question: string, ranked: readonly Candidate[]): Candidate[] {
  const least = Math.min(LEAST_SHARED_TERMS_COUNT, keyTerms(question).length);
  return ranked.filter((candidate) => candidate.covered.size >= least);
}
