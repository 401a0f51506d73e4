// Every text that a model sees and no author wrote. Part of the digest contract: test/vectors/texts.json holds each one; a changed word cuts
// every log that holds it, so it takes a new digest version.
import { canonical, type Json } from "../json.ts";

/** Follows the role's system prompt where an outputSchema is set. */
export const outputInstructions = (schema: Json): string =>
  `Your final answer must be one JSON value and nothing else: no prose, no code fence. It must be valid under this JSON Schema:\n${canonical(schema)}`;

export const outputFeedback = (problems: readonly string[]): string =>
  `Your last answer could not be used:\n${problems.map((p) => `- ${p}`).join("\n")}\nReply with the corrected final answer only.`;

export const unknownTool = (name: string, known: readonly string[]): string =>
  known.length === 0
    ? `There is no tool "${name}"; no tools are available here.`
    : `There is no tool "${name}". The tools are: ${known.join(", ")}.`;

export const badArguments = (problem: string): string =>
  `The arguments were not accepted, and the tool did not run. ${problem}`;

export const malformedArguments = (): string =>
  "The arguments were not valid JSON, and the tool did not run. Send the call again with a JSON object.";

export const callWasCut = (): string =>
  "The answer reached its token limit inside this call, so its arguments are incomplete and the tool did not run. Send the call again, shorter.";

export const tooManyCalls = (limit: number): string =>
  `At most ${limit} tool calls are run of one answer; this one was not.`;

export const toolFailed = (message: string): string => `The tool failed: ${message}`;

export const toolTimedOut = (timeoutMs: number): string =>
  `The tool did not finish within ${timeoutMs} ms and was stopped. What it did until then is unknown.`;

export const resultTooLarge = (bytes: number, limitBytes: number): string =>
  `The tool ran, but its result of ${bytes} bytes is over the limit of ${limitBytes} bytes and was dropped. Ask for less.`;

export const emptyResult = (): string => "(no output)";

export const emptyInput = (): string => "(no input)";

/** Follows the system prompt of a session. */
export const sessionPreamble = (): string =>
  "You are in a conversation that may go on for days. Each message of the user begins a turn, and your answer without a tool call ends it. Ask when you need to know more.";

export const callDenied = (by: string, comment: string): string =>
  comment.trim() === ""
    ? `${by} did not allow this call, and it did not run.`
    : `${by} did not allow this call, and it did not run: ${comment}`;

export const outcomeUnknown = (by: string, comment: string): string =>
  `Whether this call took effect is unknown, because the worker that ran it died. ${by} did not allow it to run again${
    comment.trim() === "" ? "." : `: ${comment}`
  }`;

/** Stands in a request where an old result stood that takes room. */
export const elidedResult = (tool: string): string =>
  `(The output of ${tool} was left out here to save room. It is kept in the event log; call the tool again if you need it.)`;

/** The same of a call that had effects outside: nothing invites the model to have them twice. */
export const elidedEffect = (tool: string): string =>
  `(The output of ${tool} was left out here to save room. It is kept in the event log. The call has been made, and what it did stands.)`;

/** Asks the model for a summary of the conversation before it. */
export const summaryRequest = (maxTokens: number): string =>
  `This conversation is getting too long and will go on from a summary that you write now. Write it as plain text of at most ${maxTokens} tokens, without calling a tool, in this order:
1. The task, quoted as it was given.
2. Every message of the user, word for word.
3. Decisions that were made, and constraints to keep.
4. Facts, numbers, names and URLs that were found, with their sources.
5. Where the work stands now.
6. The next step.
Leave out nothing that is needed to go on; nobody will see what came before.`;

/** The same for one part of a conversation that is too long to be read at once; `before` is the summary of the parts before it. */
export const partSummaryRequest = (
  part: number,
  parts: number,
  before: string,
  text: string,
  maxTokens: number,
): string =>
  `A conversation is too long to be read at once. ${
    before === ""
      ? `This is part ${part} of ${parts}.`
      : `This is part ${part} of ${parts}. The summary of the parts before it:\n<summary>\n${before}\n</summary>`
  }
<part>
${text}
</part>
Write one summary of everything up to here, as plain text of at most ${maxTokens} tokens, in this order: the task, quoted as it was given; every message of the user, word for word; decisions and constraints; facts, numbers, names and URLs with their sources; where the work stands; the next step.`;

/** What a conversation begins with after its older part was folded. */
export const foldedSummary = (summary: string): string =>
  `The earlier part of this conversation was replaced by this summary of it:\n${summary}`;

/** A file that a tool showed, where a request can only hold words. */
export const mediaInWords = (kind: string, name: string): string =>
  `(${kind === "pdf" ? "a PDF" : "an image"}: ${name})`;
