// Jest's globalSetup of the AWS tests: a Postgres as for all tests, another for the deployed stack alone, and an AWS emulator. Without one they fail; they are
// never skipped. Who works on them keeps all of it: the emulator by TOREN_TEST_AWS_URL, the stack and its database by
// TOREN_TEST_AWS_FOLDER, and where the emulator writes calls by TOREN_TEST_AWS_CALLS.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { awsVariables } from "../../../local/aws/deploy.ts";
import { type EmbeddedDatabase, openEmbedded } from "../../../shared/adapters/database/embedded.ts";
import openPostgres from "../../support/global-setup.ts";
import { releaseServer } from "../../support/held-server.ts";
import { type Emulator, freePort, openEmulator } from "./emulator.ts";

interface Held {
  readonly folder: string;
  readonly kept: boolean;
  database?: EmbeddedDatabase;
  emulator?: Emulator;
}

const KEY = Symbol.for("toren.test.aws");
const holder: { [KEY]?: Held } = globalThis as object;

export default async function setup(): Promise<void> {
  await openPostgres();
  try {
    const kept = process.env.TOREN_TEST_AWS_FOLDER;
    const folder = kept ?? (await mkdtemp(join(tmpdir(), "toren-aws-")));
    const held: Held = { folder, kept: kept !== undefined };
    holder[KEY] = held;
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o755); // the database server isn't root's
    held.database = await openEmbedded(join(folder, "database"));
    process.env.TOREN_TEST_AWS_CALLS ??= join(folder, "calls.jsonl");
    held.emulator = await openEmulator(process.env.TOREN_TEST_AWS_CALLS);
    Object.assign(process.env, awsVariables(held.emulator.url), {
      TOREN_TEST_AWS_FOLDER: folder,
      TOREN_TEST_AWS_DATABASE: held.database.url,
      TOREN_TEST_AWS_MODEL_PORT: await modelPort(folder),
    });
  } catch (e) {
    await closeAll();
    throw e;
  }
}

async function modelPort(folder: string): Promise<string> {
  const file = join(folder, "model-port");
  if (!existsSync(file)) writeFileSync(file, String(await freePort()));
  return readFileSync(file, "utf8");
}

export async function closeAll(): Promise<void> {
  const held = holder[KEY];
  await held?.emulator?.stop();
  await held?.database?.close();
  if (held?.kept === false) await rm(held.folder, { recursive: true, force: true });
  await releaseServer();
}
