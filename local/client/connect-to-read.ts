// For commands that only read: without a server they open the state folder's database themselves, but work on nothing.
import { access } from "node:fs/promises";
import { join } from "node:path";
import { stateFolderOf } from "../state.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type Connection, demandServer } from "./connect.ts";
import { connectForFiles } from "./connect-for-files.ts";

export async function connectToRead(terminal: Terminal): Promise<Connection> {
  const folder = stateFolderOf(terminal.env, terminal.workingFolder);
  const hasDatabase = terminal.env.DATABASE_URL || (await exists(join(folder, "postgres")));
  // Where nothing was ever started there is nothing to read; an empty database made for the occasion would only hide that.
  if (!hasDatabase) return demandServer(terminal);
  return connectForFiles(terminal);
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
