// Workers as processes of their own: started, killed as a machine dies, ended. Each by its pid, and by nothing else.
import { type ChildProcess, spawn } from "node:child_process";
import { open } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { messageOf, TorenError } from "../shared/core/errors.ts";

export interface Worker {
  readonly pid: number;
  /** Where what it says is. */
  readonly logFile: string;
  /** How it ended, if it has. */
  ended(): string | null;
  /** SIGKILL: it gets no chance to let go of anything. Resolves when it is dead. */
  kill(): Promise<void>;
  /** As Ctrl-C does; a worker that doesn't end in time is killed. Callable twice, also when it has ended. */
  end(): Promise<void>;
}

export interface WorkerSettings {
  readonly agentsFolder: string;
  readonly model: string | null;
  /** That it works on at once; undefined: as many as a worker does by default. */
  readonly tasks?: number;
  /** All that it sees of the environment. */
  readonly env: NodeJS.ProcessEnv;
  /** What it says goes here. */
  readonly logFile: string;
}

const CLI = fileURLToPath(new URL("./cli.ts", import.meta.url));
const START_MS = 30_000;
const END_MS = 5_000;

/** Starts `toren worker` and waits until it works. It ends with us, however we end: its standard input closes then. */
export async function startWorker(settings: WorkerSettings): Promise<Worker> {
  const { agentsFolder, model, env, logFile } = settings;
  const chosen = model === null ? [] : ["--model", model];
  const tasks = settings.tasks === undefined ? [] : ["--tasks", String(settings.tasks)];
  const log = await open(logFile, "a", 0o600);
  let child: ChildProcess;
  try {
    const command = [CLI, "worker", "--json", "--until-input-ends", "--agents", agentsFolder, ...tasks, ...chosen];
    // A terminal's Ctrl-C is for us: we end it by its pid.
    child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", log.fd], env, detached: true });
  } finally {
    await log.close();
  }
  const worker = workerOf(child, logFile);
  try {
    await untilReady(child);
  } catch (e) {
    await worker.kill();
    throw new TorenError("server.unreachable", `A worker didn't start: ${messageOf(e)}. See ${logFile}.`, { cause: e });
  }
  return worker;
}

function workerOf(child: ChildProcess, logFile: string): Worker {
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  child.stdin?.on("error", () => {}); // it may be dead already
  const ended = (): string | null =>
    child.exitCode !== null || child.signalCode !== null ? String(child.signalCode ?? child.exitCode) : null;
  const kill = async (): Promise<void> => {
    if (child.pid === undefined) return;
    if (ended() === null) child.kill("SIGKILL");
    await exited;
  };
  return {
    pid: child.pid ?? 0,
    logFile,
    ended,
    kill,
    end: async () => {
      if (child.pid === undefined || ended() !== null) return;
      child.kill("SIGTERM");
      const impatience = setTimeout(() => child.kill("SIGKILL"), END_MS);
      await exited;
      clearTimeout(impatience);
    },
  };
}

/** Its first line says that it serves. */
function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`nothing heard for ${START_MS / 1_000} s`)), START_MS);
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      act();
    };
    child.once("error", (e) => settle(() => reject(e)));
    child.once("exit", (code, signal) => settle(() => reject(new Error(`it ended with ${code ?? signal}`))));
    child.stdout?.once("data", () => settle(resolve));
  });
}
