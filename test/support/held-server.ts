// What globalSetup opened and globalTeardown closes. Jest loads the two apart, so it hangs on the process.
import type { Database } from "../../shared/ports/database.ts";

const KEY = Symbol.for("toren.test.server");
const holder: { [KEY]?: Database } = globalThis as object;

export function holdServer(server: Database): void {
  holder[KEY] = server;
}

export async function releaseServer(): Promise<void> {
  await holder[KEY]?.close();
}
