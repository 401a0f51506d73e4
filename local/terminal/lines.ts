// The standard input line by line: typed at a prompt, with a history, or from a pipe.
import { createInterface } from "node:readline";

export type Line = { readonly type: "line"; readonly text: string } | { readonly type: "end" | "aborted" };

export interface LineInput {
  /** Somebody types them at a prompt. */
  readonly interactive: boolean;
  /** The next line, without its end. Aborted: nothing is lost, what was half typed stands at the next prompt. */
  next(prompt: string, signal: AbortSignal): Promise<Line>;
}

const ABORTED = { type: "aborted" } as const;
const END = { type: "end" } as const;
const HISTORY_LINES = 200;
const ERASE_LINE = "\r\u001b[K";

/** Lines of a pipe or a file. Reads nothing before it is asked. */
export function pipedLines(input: NodeJS.ReadableStream): LineInput {
  let iterator: AsyncIterator<string> | undefined;
  let pending: Promise<IteratorResult<string>> | undefined;
  return {
    interactive: false,
    next: async (_prompt, signal) => {
      iterator ??= createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
      pending ??= iterator.next();
      const result = await Promise.race([pending, whenAborted(signal)]);
      if (result === null) return ABORTED;
      pending = undefined;
      return result.done === true ? END : { type: "line", text: result.value };
    },
  };
}

/**
 * Lines typed on a terminal. Between two prompts the terminal is as it was, so that Ctrl-C is a signal then; at a prompt it is `interrupt`.
 */
export function typedLines(input: NodeJS.ReadStream, output: NodeJS.WriteStream, interrupt: () => void): LineInput {
  const history: string[] = [];
  const pasted: string[] = [];
  let draft = "";
  const ask = (prompt: string, signal: AbortSignal): Promise<Line> =>
    new Promise((resolve) => {
      const reader = createInterface({ input, output, prompt, history: [...history], historySize: HISTORY_LINES });
      let line: Line = END; // Ctrl-D
      let asked = false;
      const abort = (): void => {
        if (asked) return; // the line is there
        line = ABORTED;
        draft = reader.line;
        output.write(ERASE_LINE);
        reader.close();
      };
      reader.on("line", (text) => {
        if (asked) return void pasted.push(text); // of the same paste
        asked = true;
        line = { type: "line", text };
        if (text.trim() !== "" && history[0] !== text) history.unshift(text);
        setImmediate(() => {
          draft = reader.line;
          reader.close();
        });
      });
      reader.on("SIGINT", interrupt);
      reader.on("close", () => {
        signal.removeEventListener("abort", abort);
        if (line.type === "end") output.write("\n");
        resolve(line);
      });
      signal.addEventListener("abort", abort, { once: true });
      reader.prompt();
      if (draft !== "") reader.write(draft);
      draft = "";
    });
  return {
    interactive: true,
    next: async (prompt, signal) => {
      if (signal.aborted) return ABORTED;
      const text = pasted.shift();
      return text === undefined ? ask(prompt, signal) : { type: "line", text };
    },
  };
}

const whenAborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
