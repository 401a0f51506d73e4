/**
 * The model server as a program: `node local/model-server/main.ts [--port 0] [--host ADDRESS] [--ledger FILE] [--latency MIN-MAX]`.
 * Prints one line of JSON when it is ready, and ends on SIGTERM or SIGINT.
 */
import { parseArgs } from "node:util";
import { DEFAULT_MAX_LATENCY_MS, DEFAULT_MIN_LATENCY_MS } from "./limits.ts";
import { startModelServer } from "./server.ts";
import { DISCLOSURE, MODEL_ID } from "./wire.ts";

const USAGE = `Usage: model-server [--port N] [--host ADDRESS] [--ledger FILE] [--latency MIN-MAX]

A server that speaks OpenAI's chat-completions format. It is ${DISCLOSURE}.

  --host ADDRESS    address to listen on; 127.0.0.1 by default. Another one only in a container of its own: it asks nobody for a key
  --port N          port to listen on; 0, the default, takes a free one
  --ledger FILE     keep the ledger of requests in FILE (JSON lines), over restarts
  --latency MIN-MAX milliseconds an answer takes; ${DEFAULT_MIN_LATENCY_MS}-${DEFAULT_MAX_LATENCY_MS} by default
`;

interface Settings {
  readonly port: number;
  readonly host: string;
  readonly ledgerFile?: string;
  readonly minLatencyMs: number;
  readonly maxLatencyMs: number;
}

function settings(args: readonly string[]): Settings | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: "string", default: "0" },
      host: { type: "string", default: "127.0.0.1" },
      ledger: { type: "string" },
      latency: { type: "string", default: `${DEFAULT_MIN_LATENCY_MS}-${DEFAULT_MAX_LATENCY_MS}` },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const latency = /^(\d+)(?:-(\d+))?$/.exec(values.latency);
  if (latency === null) throw new Error(`--latency takes MIN-MAX in milliseconds, not ${values.latency}`);
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > 65_535) throw new Error(`${values.port} is no port`);
  return {
    port: Number(values.port),
    host: values.host,
    ...(values.ledger === undefined ? {} : { ledgerFile: values.ledger }),
    minLatencyMs: Number(latency[1]),
    maxLatencyMs: Number(latency[2] ?? latency[1]),
  };
}

async function main(args: readonly string[]): Promise<void> {
  const chosen = settings(args);
  if (chosen === "help") {
    process.stdout.write(USAGE);
    return;
  }
  const server = await startModelServer(chosen);
  const stop = (): void => void server.close().then(() => process.exit(0));
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  const line = { url: server.url, port: server.port, pid: process.pid, model: MODEL_ID, kind: DISCLOSURE };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`model-server: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
