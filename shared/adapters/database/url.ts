// A Postgres that the user runs, by its connection string. Twin: embedded.ts.
import type { Database } from "../../ports/database.ts";
import { type OpenOptions, openChecked, untilItAnswers } from "./connect.ts";

/**
 * Connects, waiting for a database that is away, and refuses one that could never work.
 * @throws TorenError `database.unavailable` when it doesn't answer or doesn't let us in, `database.unsafe` when it is too old or not UTF8.
 */
export async function openUrl(url: string, options: OpenOptions = {}): Promise<Database> {
  await untilItAnswers(url, options);
  return openChecked(url, options);
}
