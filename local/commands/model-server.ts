// toren model-server: the rule-based model server, alone.
import type { Command } from "commander";
import { messageOf } from "../../shared/core/errors.ts";
import { UsageError } from "../client/usage-error.ts";
import { DEFAULT_MAX_LATENCY_MS, DEFAULT_MIN_LATENCY_MS } from "../model-server/limits.ts";
import { startModelServer } from "../model-server/server.ts";
import { DISCLOSURE } from "../model-server/wire.ts";
import { type Context, EXIT, parsePort, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly port: number;
  readonly ledger?: string;
  readonly untilInputEnds?: boolean;
  readonly json?: boolean;
}

export const modelServerCommand = (context: Context): Command =>
  subcommand("model-server", `a server on 127.0.0.1 that speaks OpenAI's chat-completions format; ${DISCLOSURE}`)
    .option("--port <n>", "port; 0 takes a free one", parsePort, 0)
    .option("--ledger <file>", "keep the ledger of requests in this file, over restarts")
    .option("--until-input-ends", "end when the standard input does: for who starts it beside")
    .action((options: Options) => context.run(options.json, () => serveModel(context, options)));

async function serveModel({ terminal }: Context, options: Options): Promise<number> {
  const server = await start(options);
  if (options.json) writeJson(terminal, { url: server.url, port: server.port, pid: process.pid });
  else {
    terminal.out.write(`${server.url}\n`);
    say(
      terminal,
      `The model server listens (pid ${process.pid}). It is ${DISCLOSURE}.\nSet OPENAI_BASE_URL=${server.url} to use it. Ctrl-C ends it.`,
    );
  }
  const inputEnded = options.untilInputEnds ? [terminal.readInput()] : [];
  const interrupted = new Promise((resolve) => terminal.interrupted.addEventListener("abort", resolve, { once: true }));
  if (!terminal.interrupted.aborted) await Promise.race([interrupted, ...inputEnded]);
  await server.close();
  return EXIT.done;
}

async function start({ port, ledger }: Options) {
  try {
    const latency = { minLatencyMs: DEFAULT_MIN_LATENCY_MS, maxLatencyMs: DEFAULT_MAX_LATENCY_MS };
    return await startModelServer({ port, ...latency, ...(ledger === undefined ? {} : { ledgerFile: ledger }) });
  } catch (e) {
    throw new UsageError(`The model server can't start: ${messageOf(e)}.`);
  }
}
