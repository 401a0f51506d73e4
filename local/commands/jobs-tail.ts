// toren jobs tail: a run's log, event by event, until it ends.
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { TorenError } from "../../shared/core/errors.ts";
import { EVENTS_WAIT_MAX_MS } from "../../shared/core/limits.ts";
import type { Page } from "../../shared/http/events-page.ts";
import type { Api } from "../client/api.ts";
import type { Connection } from "../client/connect.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { wholeRunId } from "../client/run-id.ts";
import { watchLive } from "../client/watch-live.ts";
import { jsonTail, type TailScreen, tailScreen } from "../terminal/tail-screen.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { shortId } from "../terminal/units.ts";
import { type Context, EXIT, EXIT_INTERRUPTED, say, subcommand, wasCtrlC } from "./context.ts";

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
  const { out, interrupted } = terminal;
  const connection = await connectToRead(terminal);
  const over = new AbortController();
  const screen = options.json ? jsonTail(out) : tailScreen(out, options.stream ?? null);
  let watching = Promise.resolve();
  try {
    const runId = await wholeRunId(connection.api, typed);
    const place = { after: "" };
    if (out.size() !== null && !options.json)
      watching = watchLive({
        api: () => connection.api,
        runId,
        after: () => (options.stream === undefined ? place.after : ""),
        signal: AbortSignal.any([interrupted, over.signal]),
        onSaying: screen.saying,
      });
    const status = await pages({ terminal, connection, screen, place }, runId, options);
    if (status !== null) return status;
    if (!wasCtrlC(terminal)) return EXIT.done;
    screen.rest();
    say(terminal, `\nLeaving run ${runId}: \`toren jobs tail ${shortId(runId)}\` follows it again.`);
    return EXIT_INTERRUPTED;
  } finally {
    over.abort();
    await watching;
    screen.rest();
    await connection.close();
  }
}

interface Tailing {
  readonly terminal: Terminal;
  readonly connection: Connection;
  readonly screen: TailScreen;
  readonly place: { after: string };
}

/** Null: it was left before its end. */
async function pages(
  { terminal, connection, screen, place }: Tailing,
  runId: string,
  options: Options,
): Promise<number | null> {
  const { api } = connection;
  while (!terminal.interrupted.aborted) {
    const page = await nextPage(api, runId, place.after, options, terminal.interrupted);
    if (page === null) break;
    screen.events(page.events);
    place.after = page.next;
    if (page.ended) return await statusOf(api, runId, options);
    if (connection.own && !page.more) {
      say(terminal, "The run hasn't ended, and no server runs here that works on it: start one with `toren dev`.");
      return EXIT.unreachable;
    }
  }
  return null;
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
