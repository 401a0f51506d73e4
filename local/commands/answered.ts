// One question to the server: asked, shown to a person or as JSON, and the connection closed whatever comes of it.
import type { Api } from "../client/api.ts";
import type { connectToRead } from "../client/connect-to-read.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { EXIT, writeJson } from "./context.ts";

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
    const answer = await ask(connection.api);
    if (json) writeJson(terminal, answer);
    else show(answer);
    return EXIT.done;
  } finally {
    await connection.close();
  }
}
