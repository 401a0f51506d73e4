// A worker in a process of its own, that tells the bench how it is.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export interface WorkerProcess<T> {
  /** Its next message; listens from the call on. */
  told(): Promise<T>;
  kill(): void;
}

const PATIENCE_MS = 180_000;

/** `script`: a file of this folder; `tasks`: how many it works on at once. */
export function startWorker<T>(
  script: string,
  tasks: number,
  url: string,
  flags: readonly string[] = [],
): WorkerProcess<T> {
  const worker = fork(fileURLToPath(new URL(script, import.meta.url)), [String(tasks)], {
    execArgv: [...flags],
    env: { ...process.env, DATABASE_URL: url },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  return {
    kill: () => worker.kill(),
    told: async () => {
      const gone = once(worker, "exit").then(([code]) => {
        throw new Error(`${script} ended with ${code}`);
      });
      const late = wait(PATIENCE_MS, undefined, { ref: false }).then(() => {
        throw new Error(`${script} said nothing for ${PATIENCE_MS} ms`);
      });
      const [message] = (await Promise.race([once(worker, "message"), gone, late])) as [T];
      return message;
    },
  };
}
