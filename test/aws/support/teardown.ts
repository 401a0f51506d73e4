// Jest's globalTeardown of the AWS tests.
import { releaseServer } from "../../support/held-server.ts";
import { stopEmulator } from "./setup.ts";

export default async function teardown(): Promise<void> {
  await stopEmulator();
  await releaseServer();
}
