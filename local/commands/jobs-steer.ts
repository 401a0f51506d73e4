// toren jobs cancel, toren jobs resume: what a person tells a run. Both need a server that works: the run's own writer acts on it.
import type { Command } from "commander";
import type { Api } from "../client/api.ts";
import { demandServer } from "../client/connect.ts";
import { wholeRunId } from "../client/run-id.ts";
import { type Context, EXIT, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly reason?: string;
  readonly json?: boolean;
}

export const cancelCommand = (context: Context): Command =>
  subcommand("cancel", "ask a run to stop")
    .argument("<run>", "its id, or the beginning of it")
    .option("--reason <text>", "kept in the run's log")
    .action((typed: string, options: Options) =>
      steer(context, typed, options, "asked to stop", (api, runId) => api.cancel(runId, options.reason)),
    );

export const resumeCommand = (context: Context): Command =>
  subcommand("resume", "nudge a run that should be going on")
    .argument("<run>", "its id, or the beginning of it")
    .action((typed: string, options: Options) =>
      steer(context, typed, options, "nudged", (api, runId) => api.resume(runId)),
    );

const steer = (
  { terminal, run }: Context,
  typed: string,
  options: Options,
  done: string,
  act: (api: Api, runId: string) => Promise<void>,
): Promise<void> =>
  run(options.json, async () => {
    const connection = await demandServer(terminal);
    const runId = await wholeRunId(connection.api, typed);
    await act(connection.api, runId);
    if (options.json) writeJson(terminal, { runId });
    else say(terminal, `Run ${runId} has been ${done}.`);
    return EXIT.done;
  });
