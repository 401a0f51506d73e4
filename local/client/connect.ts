// Finds the server that a command talks to: TOREN_URL's, else the one that runs in the state folder, else one of its own in this very process.
import { TorenError } from "../../shared/core/errors.ts";
import { readKey, readServer, type ServerRecord, stateFolderOf } from "../state.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { isAlive } from "./alive.ts";
import { type Api, createApi } from "./api.ts";
import type { OwnServer } from "./own-server.ts";

export interface Connection {
  readonly api: Api;
  /** Null: TOREN_URL's, of which we know no more. */
  readonly record: ServerRecord | null;
  /** It is in this process, and ends with it. */
  readonly own: boolean;
  /** Ends what was started for this connection. */
  close(): Promise<void>;
}

/** The server that is there already; null: none. @throws TorenError `auth.missing` when TOREN_URL has no key to go with it. */
export async function findServer(terminal: Terminal): Promise<Connection | null> {
  const { env, workingFolder } = terminal;
  const folder = stateFolderOf(env, workingFolder);
  const key = env.TOREN_API_KEY || (await readKey(folder));
  const close = async (): Promise<void> => {};
  if (env.TOREN_URL) {
    if (key === null) throw new TorenError("auth.missing", "TOREN_URL is set, but no TOREN_API_KEY to go with it.");
    return { api: createApi(checkedUrl(env.TOREN_URL), key), record: null, own: false, close };
  }
  const record = await readServer(folder);
  if (record === null || key === null || !(await isAlive(record))) return null;
  return { api: createApi(record.url, key), record, own: false, close };
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return text;
  throw new TorenError(
    "server.unreachable",
    `TOREN_URL isn't an address: "${text}". Write it as http://127.0.0.1:7400.`,
  );
}

/** The one that is there, else what `start` starts. */
export async function connect(terminal: Terminal, start: () => Promise<OwnServer>): Promise<Connection> {
  const found = await findServer(terminal);
  if (found !== null) return found;
  const server = await start();
  return { api: createApi(server.record.url, server.key), record: server.record, own: true, close: server.close };
}

/** For commands that are of no use without a server that works. */
export async function demandServer(terminal: Terminal): Promise<Connection> {
  const found = await findServer(terminal);
  if (found !== null) return found;
  const folder = stateFolderOf(terminal.env, terminal.workingFolder);
  throw new TorenError(
    "server.unreachable",
    `No server runs in ${folder}. Start one with \`toren dev\`, or set TOREN_URL.`,
  );
}
