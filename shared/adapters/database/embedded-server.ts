// The embedded server as a process: found by its own pid file, started, ended.
import { type ChildProcess, spawn } from "node:child_process";
import { readlinkSync } from "node:fs";
import { type FileHandle, open, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EMBEDDED_LOG_BYTES, EMBEDDED_STOP_MS } from "../../core/limits.ts";
import type { Account } from "./embedded-account.ts";
import { type Cluster, credentials, SERVER_ENVIRONMENT } from "./embedded-cluster.ts";

export interface Running {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

// postmaster.pid, by line: pid, data directory, start time, port, socket folder, listen address, shared memory, status.
const LINE_PID = 0;
const LINE_PORT = 3;
const LINE_STATUS = 7;

async function pidFile(cluster: Cluster): Promise<string[] | null> {
  const text = await readFile(join(cluster.directory, "postmaster.pid"), "utf8").catch(() => null);
  return text === null ? null : text.split("\n");
}

/** The live server of this cluster, whoever started it. */
export async function findServer(cluster: Cluster): Promise<Running | null> {
  const lines = await pidFile(cluster);
  const pid = Number(lines?.[LINE_PID]);
  if (lines === null || !(pid > 0) || !servesDirectory(pid, cluster.directory)) return null;
  const port = Number(lines[LINE_PORT]);
  return { pid, port, ready: port > 0 && lines[LINE_STATUS]?.trim() === "ready" };
}

/** The port it had last: processes that were given the address find the server again after it was killed. */
export async function lastPort(cluster: Cluster): Promise<number | null> {
  const port = Number((await pidFile(cluster))?.[LINE_PORT]);
  return port > 0 ? port : null;
}

/** Whether this process is a server at work in this directory; process ids are used again, above all in containers. */
export function servesDirectory(pid: number, directory: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true; // no cheap way to ask; only a server that let us in by its password is ever ended
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === directory; // no link for a zombie, no permission for a stranger's
  } catch {
    return false;
  }
}

/**
 * Makes a pid file that names a dead or foreign process one that Postgres recognises as stale by itself. Its other lines stay: by them the new server
 * finds out whether parts of the old one still use the shared memory, and waits for them.
 */
async function disownPidFile(cluster: Cluster): Promise<void> {
  const lines = await pidFile(cluster);
  if (lines === null || (await findServer(cluster)) !== null) return;
  const NOBODYS_PID = 2 ** 31 - 1; // above every system's maximum
  await writeFile(join(cluster.directory, "postmaster.pid"), [NOBODYS_PID, ...lines.slice(1)].join("\n"));
}

export interface ServerSettings {
  /** False only for tests: their data isn't worth a disk's round trip. */
  readonly durable: boolean;
  readonly logFile: string;
  readonly binaries: string;
  readonly account: Account;
}

function flags(port: number, durable: boolean): string[] {
  const settings: Record<string, string | number> = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "", // none: its path may be at most 107 bytes long, and the password would not be asked
    max_connections: 200,
    shared_buffers: "64MB",
    max_wal_size: "512MB",
    wal_level: "minimal",
    max_wal_senders: 0,
    log_checkpoints: "off",
    jit: "off", // compiles for longer than these statements run
    log_timezone: "UTC",
    timezone: "UTC",
    log_min_messages: "warning",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  return Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
}

/**
 * Starts a server and returns when it has got ready or has given up. It lives on without us: a terminal's Ctrl-C doesn't reach it.
 * When another start was first (one data directory, one server), null: look again.
 */
export async function startServer(
  cluster: Cluster,
  port: number,
  settings: ServerSettings,
  deadline: number,
): Promise<Running | null> {
  await disownPidFile(cluster);
  const log = await openLog(settings.logFile);
  let child: ChildProcess;
  try {
    child = spawn(
      join(settings.binaries, "bin", "postgres"),
      ["-D", cluster.directory, ...flags(port, settings.durable)],
      {
        ...credentials(settings.account),
        cwd: "/",
        env: SERVER_ENVIRONMENT,
        detached: true,
        stdio: ["ignore", log.fd, log.fd],
      },
    );
    let ended = false;
    child.on("error", () => (ended = true));
    child.on("exit", () => (ended = true));
    child.unref();
    while (!ended && performance.now() < deadline) {
      const running = await findServer(cluster);
      if (running?.pid === child.pid && running?.ready) return running;
      await sleep(15);
    }
    return null;
  } finally {
    await log.close();
  }
}

async function openLog(path: string): Promise<FileHandle> {
  const bytes = (await stat(path).catch(() => null))?.size ?? 0;
  return open(path, bytes > EMBEDDED_LOG_BYTES ? "w" : "a", 0o600);
}

/** The end of the server's log, for an error message. */
export async function lastWords(logFile: string): Promise<string> {
  const text = await readFile(logFile, "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => /FATAL|PANIC|ERROR|HINT|could not/.test(line));
  return lines.slice(-2).join(" ").slice(-500);
}

/** Ends the server: sessions are cut, everything committed is on disk. Only ever called with what `findServer` found. */
export async function stopServer(running: Running, cluster: Cluster): Promise<void> {
  const signal = (name: NodeJS.Signals): void => {
    if (!servesDirectory(running.pid, cluster.directory)) return;
    try {
      process.kill(running.pid, name);
    } catch {
      // It ended by itself.
    }
  };
  const until = performance.now() + EMBEDDED_STOP_MS;
  signal("SIGINT");
  while (servesDirectory(running.pid, cluster.directory)) {
    if (performance.now() > until) return signal("SIGQUIT"); // at once, without a checkpoint: the next start replays its log
    await sleep(15);
  }
}

/** A port of loopback that is free now; the one asked for, if it is. */
export async function freePort(wanted: number | null): Promise<number> {
  const listen = (port: number) =>
    new Promise<number | null>((resolve) => {
      const probe = createServer();
      probe.unref();
      probe.once("error", () => resolve(null));
      probe.listen(port, "127.0.0.1", () => {
        const address = probe.address();
        probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
      });
    });
  const kept = wanted === null ? null : await listen(wanted);
  const port = kept ?? (await listen(0));
  if (port === null) throw new Error("no free port on 127.0.0.1");
  return port;
}
