// toren jobs tail: a run's log, event by event, until it ends.
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { TorenError } from "../../shared/core/errors.ts";
import { EVENTS_WAIT_MAX_MS } from "../../shared/core/limits.ts";
import type { Page } from "../../shared/http/events-page.ts";
import type { Api } from "../client/api.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { wholeRunId } from "../client/run-id.ts";
import { eventLine } from "../terminal/event-line.ts";
import { styleOf } from "../terminal/style.ts";
import { type Context, EXIT, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly stream?: string;
  readonly full?: boolean;
  readonly json?: boolean;
}

export const tailCommand = (context: Context): Command =>
  subcommand("tail", "a run's events as they come, until it ends; with --json one JSON document a line")
    .argument("<run>", "its id, or the beginning of it")
    .option("--stream <id>", "only this stream: `run`, or `task:<taskId>`")
    .option("--full", "with --json: large fields too")
    .action((typed: string, options: Options) => context.run(options.json, () => tail(context, typed, options)));

async function tail({ terminal }: Context, typed: string, options: Options): Promise<number> {
  const connection = await connectToRead(terminal);
  const { api } = connection;
  try {
    const runId = await wholeRunId(api, typed);
    const style = styleOf(terminal.out);
    for (let after = ""; !terminal.interrupted.aborted; ) {
      const page = await nextPage(api, runId, after, options, terminal.interrupted);
      if (page === null) break;
      for (const event of page.events) {
        if (options.json) writeJson(terminal, event);
        else terminal.out.write(`${eventLine(event, style, terminal.out.size()?.columns ?? null)}\n`);
      }
      after = page.next;
      if (page.ended) return await statusOf(api, runId, options);
      if (connection.own && !page.more) {
        say(terminal, "The run hasn't ended, and no server runs here that works on it: start one with `toren dev`.");
        return EXIT.unreachable;
      }
    }
    return EXIT.done;
  } finally {
    await connection.close();
  }
}

/** A whole run tailed to its end answers as `toren run` does. */
async function statusOf(api: Api, runId: string, options: Options): Promise<number> {
  if (options.stream !== undefined) return EXIT.done;
  return (await api.run(runId)).status === "completed" ? EXIT.done : EXIT.failed;
}

/** Tries that a server may stay away for, a second each. */
const TRIES = 60;

async function nextPage(
  api: Api,
  runId: string,
  after: string,
  options: Options,
  signal: AbortSignal,
): Promise<Page | null> {
  const query = {
    wait: String(EVENTS_WAIT_MAX_MS / 1_000),
    ...(after === "" ? {} : { after }),
    ...(options.stream === undefined ? {} : { stream: options.stream }),
    ...(options.full ? { full: "1" } : {}),
  };
  for (let tries = 1; ; tries++) {
    try {
      return await api.events(runId, query, signal);
    } catch (thrown) {
      if (signal.aborted) return null;
      const passing =
        thrown instanceof TorenError &&
        (thrown.code === "server.unreachable" || thrown.code === "database.unavailable");
      if (!passing || tries === TRIES) throw thrown;
      await sleep(1_000, undefined, { signal }).catch(() => {});
    }
  }
}
