// What comes late on an emulator: asked for until it is there.
import { setTimeout as sleep } from "node:timers/promises";

/** @throws saying what never came. */
export async function eventually<T>(what: string, look: () => Promise<T | null>, timeoutMs = 30_000): Promise<T> {
  for (const deadline = Date.now() + timeoutMs; ; await sleep(100)) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`${what}: not after ${timeoutMs} ms`);
  }
}
