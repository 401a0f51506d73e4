import type { Terminal } from "./terminal.ts";

/** Resolves at Ctrl-C or SIGTERM, and keeps the process alive until then. */
export function untilInterrupted({ interrupted }: Pick<Terminal, "interrupted">): Promise<void> {
  if (interrupted.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1 << 30);
    interrupted.addEventListener(
      "abort",
      () => {
        clearInterval(alive);
        resolve();
      },
      { once: true },
    );
  });
}
