// Jest's globalSetup: the server and the template are there before the first test file. Workers inherit the environment.
import { ensureTemplate, openTestServer } from "../../local/testing/database-server.ts";
import { holdServer } from "./held-server.ts";

export default async function setup(): Promise<void> {
  const server = await openTestServer();
  holdServer(server);
  process.env.TOREN_TEST_SERVER = server.url;
  try {
    process.env.TOREN_TEST_TEMPLATE = await ensureTemplate(server.url);
  } catch (e) {
    await server.close(); // no teardown follows a failed setup
    throw e;
  }
}
