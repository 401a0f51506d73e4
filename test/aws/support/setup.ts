// Jest's globalSetup of the AWS tests: a Postgres, as for all tests, and an AWS emulator beside it. Without one they fail; they are never skipped.
import openPostgres from "../../support/global-setup.ts";
import { releaseServer } from "../../support/held-server.ts";
import { awsVariables, type Emulator, openEmulator } from "./emulator.ts";

const KEY = Symbol.for("toren.test.emulator");
export const holder: { [KEY]?: Emulator } = globalThis as object;

export default async function setup(): Promise<void> {
  await openPostgres();
  try {
    const emulator = await openEmulator();
    holder[KEY] = emulator;
    Object.assign(process.env, awsVariables(emulator.url));
  } catch (e) {
    await releaseServer();
    throw e;
  }
}

export const stopEmulator = async (): Promise<void> => {
  await holder[KEY]?.stop();
};
