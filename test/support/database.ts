// A migrated database for one test file, on the server that jest's globalSetup holds.

import { createDatabase, dropDatabase, withDatabase } from "../../local/testing/database-server.ts";
import { openUrl } from "../../shared/adapters/database/url.ts";
import { sealerBy } from "../../shared/adapters/sealer/aes-gcm.ts";
import { createEnvSecrets } from "../../shared/adapters/secrets/env.ts";
import type { Database } from "../../shared/ports/database.ts";

/** With TOREN_ENCRYPTION_KEYS set, every test's runs are sealed: any suite can be run so. */
const bySetting = async (): Promise<Pick<Database, "sealer">> => ({
  sealer: await sealerBy(createEnvSecrets(process.env)),
});

export interface TestDatabase {
  readonly database: Database;
  readonly url: string;
  /** Closes the pools and drops the database. */
  drop(): Promise<void>;
}

/** Some 50 ms. Call it in beforeAll, and `drop` in afterAll. `size`: connections of each pool, as for openUrl. */
export async function testDatabase(size: { appends?: number; pool?: number } = {}): Promise<TestDatabase> {
  const server = process.env.TOREN_TEST_SERVER;
  const template = process.env.TOREN_TEST_TEMPLATE;
  if (server === undefined || template === undefined)
    throw new Error("testDatabase needs jest's globalSetup (test/support/global-setup.ts)");
  const name = await createDatabase(server, template);
  const url = withDatabase(server, name);
  const database = { ...(await openUrl(url, size)), ...(await bySetting()) };
  return {
    database,
    url,
    drop: async () => {
      await database.close();
      await dropDatabase(server, name);
    },
  };
}
