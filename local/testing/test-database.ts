// A migrated database of one's own on the tests' server. The server is opened once a process and let go of with the last who uses it; jest's globalSetup
// of this repository holds one for its whole run.

import { openUrl } from "../../shared/adapters/database/url.ts";
import type { Database } from "../../shared/ports/database.ts";
import { installClock } from "./clock.ts";
import {
  createDatabase,
  dropDatabase,
  ensureTemplate,
  openTestServer,
  withAdmin,
  withDatabase,
} from "./database-server.ts";

interface Server {
  readonly url: string;
  readonly template: string;
  leave(): Promise<void>;
}

let shared: { users: number; readonly opening: Promise<Omit<Server, "leave"> & { close(): Promise<void> }> } | null =
  null;

async function enterServer(): Promise<Server> {
  const { TOREN_TEST_SERVER: url, TOREN_TEST_TEMPLATE: template } = process.env;
  if (url !== undefined && template !== undefined) return { url, template, leave: async () => {} };
  shared ??= { users: 0, opening: openServer() };
  const mine = shared;
  mine.users++;
  const leave = async (): Promise<void> => {
    if (--mine.users > 0) return;
    if (shared === mine) shared = null;
    await (await mine.opening).close();
  };
  try {
    return { ...(await mine.opening), leave };
  } catch (e) {
    if (shared === mine) shared = null; // the next one tries anew
    throw e;
  }
}

async function openServer(): Promise<Omit<Server, "leave"> & { close(): Promise<void> }> {
  const { url, close } = await openTestServer();
  try {
    return { url, close, template: await ensureTemplate(url) };
  } catch (e) {
    await close();
    throw e;
  }
}

const CONNECTIONS = { appends: 2, pool: 4 };

/** With a clock that can be put forward. `drop` closes it and lets go of the server. */
export async function openTestDatabase(): Promise<{ database: Database; drop(): Promise<void> }> {
  const server = await enterServer();
  let name: string | null = null;
  const leave = async (): Promise<void> => {
    if (name !== null) await dropDatabase(server.url, name);
    await server.leave();
  };
  try {
    name = await createDatabase(server.url, server.template);
    const own = name;
    const url = withDatabase(server.url, own);
    await withAdmin(url, (client) => installClock(client, own));
    const database = await openUrl(url, CONNECTIONS);
    return {
      database,
      drop: async () => {
        await database.close();
        await leave();
      },
    };
  } catch (e) {
    await leave();
    throw e;
  }
}
