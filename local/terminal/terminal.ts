// Where a command reads and writes: injected, so that commands can be called in a test as they are on a terminal.
import { userInfo } from "node:os";
import { type LineInput, pipedLines, typedLines } from "./lines.ts";

export interface Output {
  write(text: string): void;
  /** Null: a pipe or a file, where nothing may move or be coloured. */
  readonly size: () => { readonly columns: number; readonly rows: number } | null;
  readonly colour: boolean;
  /** What commands begin with that are shown to be copied. Default: `toren`. */
  readonly program?: string;
}

export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  readonly env: NodeJS.ProcessEnv;
  readonly workingFolder: string;
  /** All of the standard input, as UTF-8. */
  readInput(): Promise<string>;
  readonly lines: LineInput;
  /** Who sits before it: decisions are made in this name. */
  readonly user: string;
  /** Aborts at the first Ctrl-C or SIGTERM; the second ends the process. */
  readonly interrupted: AbortSignal;
}

/** A shell doesn't find what npm has put into a folder's node_modules: whoever called us by npx has to do so again. */
const programOf = (env: NodeJS.ProcessEnv): string => (env.npm_command === "exec" ? "npx toren" : "toren");

/** A message of ours, with the commands in it as they are to be called here. */
export const asCalled = (text: string, env: NodeJS.ProcessEnv): string =>
  text.replaceAll(/`toren(?= [a-z])/g, `\`${programOf(env)}`);

const INPUT_MAX_BYTES = 64 * 1024 * 1024;

function outputTo(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Output {
  const live = stream.isTTY === true && env.TERM !== "dumb";
  return {
    write: (text) => void stream.write(text),
    size: () => (live ? { columns: stream.columns ?? 80, rows: stream.rows ?? 24 } : null),
    colour: live && !env.NO_COLOR,
    program: programOf(env),
  };
}

export function processTerminal(): Terminal {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (interruption.signal.aborted) process.exit(signal === "SIGINT" ? 130 : 143);
      interruption.abort(signal);
    });
  }
  // A reader that went away (`toren jobs tail … | head -1`) is no error: the command ends as by Ctrl-C, and leaves nothing open.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (e: NodeJS.ErrnoException) => {
      if (e.code === "EPIPE") interruption.abort("EPIPE");
      else if (stream === process.stdout) spoilt(e, interruption);
      // A log that can't be written (its disk is full, say) is no reason for a server to end: its runs are recorded elsewhere.
    });
  }
  return {
    out: outputTo(process.stdout, process.env),
    err: outputTo(process.stderr, process.env),
    env: process.env,
    workingFolder: process.cwd(),
    interrupted: interruption.signal,
    user: userName(),
    lines:
      process.stdin.isTTY && process.stderr.isTTY
        ? typedLines(process.stdin, process.stderr, () => void process.kill(process.pid, "SIGINT"))
        : pipedLines(process.stdin),
    readInput: async () => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > INPUT_MAX_BYTES) throw new Error(`the standard input is over ${INPUT_MAX_BYTES} bytes`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString("utf8");
    },
  };
}

/** What was asked for can't be shown: the command ends as by Ctrl-C, so that nothing of it stays behind, and says so. */
function spoilt(e: Error, interruption: AbortController): void {
  process.once("exit", () => {
    process.exitCode = 1;
  });
  if (!interruption.signal.aborted) process.stderr.write(`error The output can't be written: ${e.message}.\n`);
  interruption.abort("EPIPE");
}

/** A word for a shell, as people paste it. */
export const shellWord = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The operating system's name for the user; some containers have none for theirs. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "somebody at the command line";
  }
}

/** What a model or a user wrote, for a terminal: it can't move the cursor, set colours or hide text there. */
export const printable = (text: string): string =>
  text.replace(/[^\P{Cc}\n\t]/gu, "\u{FFFD}").replace(/[\u202a-\u202e\u2066-\u2069]/g, "\u{FFFD}");

/** The same on one line. */
export const oneLine = (text: string): string => printable(text).replace(/\s+/g, " ").trim();

/** At most `width` characters. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}
