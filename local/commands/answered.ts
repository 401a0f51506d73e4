// One question to the server: asked, shown to a person or as JSON, and the connection closed whatever comes of it.
import type { Api } from "../client/api.ts";
import type { connectToRead } from "../client/connect-to-read.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { EXIT, EXIT_INTERRUPTED, say, wasCtrlC, writeJson } from "./context.ts";

export interface Question<T> {
  ask(api: Api): Promise<T>;
  /** For a person; with `--json` the answer itself is written. */
  show(answer: T): void;
}

export async function answered<T>(
  terminal: Terminal,
  connect: typeof connectToRead,
  json: boolean | undefined,
  { ask, show }: Question<T>,
): Promise<number> {
  const connection = await connect(terminal);
  try {
    const answer = await orInterrupted(ask(connection.api), terminal.interrupted);
    if (answer === INTERRUPTED) {
      if (!wasCtrlC(terminal)) return EXIT.done;
      say(terminal, "\nStopped before the server had answered; what was asked of it may be done all the same.");
      return EXIT_INTERRUPTED;
    }
    if (json) writeJson(terminal, answer);
    else show(answer);
    return EXIT.done;
  } finally {
    await connection.close();
  }
}

const INTERRUPTED = Symbol();

/** A server that doesn't answer must not hold who has pressed Ctrl-C. */
async function orInterrupted<T>(asked: Promise<T>, interrupted: AbortSignal): Promise<T | typeof INTERRUPTED> {
  asked.catch(() => {}); // nobody may be left to hear of it
  const { promise, resolve } = Promise.withResolvers<typeof INTERRUPTED>();
  const stop = (): void => resolve(INTERRUPTED);
  if (interrupted.aborted) stop();
  interrupted.addEventListener("abort", stop, { once: true });
  return await Promise.race([asked, promise]).finally(() => interrupted.removeEventListener("abort", stop));
}
