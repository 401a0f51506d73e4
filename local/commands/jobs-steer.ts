// toren jobs cancel, toren jobs resume: what a person tells a run. Both need a server that works: the run's own writer acts on it.
import { type Command, Option } from "commander";
import type { Api } from "../client/api.ts";
import { demandServer } from "../client/connect.ts";
import { wholeRunId } from "../client/run-id.ts";
import { styleOf } from "../terminal/style.ts";
import { waitLines } from "../terminal/waits.ts";
import { type Context, EXIT, say, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly reason?: string;
  readonly rerun?: boolean;
  readonly keep?: boolean;
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
  subcommand("resume", "decide about a cut that waits, or nudge a run that should be going on")
    .argument("<run>", "its id, or the beginning of it")
    .addOption(new Option("--rerun", "make the cut: the calls that it names are done again").conflicts("keep"))
    .option("--keep", "go on from what is recorded: nothing is done again")
    .action((typed: string, options: Options) => {
      const decision = options.rerun ? "rerun" : options.keep ? "keep" : null;
      if (decision === null) return steer(context, typed, options, "nudged", (api, runId) => api.resume(runId));
      const { terminal } = context;
      return steer(
        context,
        typed,
        options,
        decision === "keep" ? "told to keep" : "told to run again",
        async (api, runId) => {
          const run = await api.run(runId);
          const shown = waitLines({ ...run, approvals: [], status: "waitingCut" }, styleOf(terminal.err), Date.now());
          if (run.cuts.length > 0 && !options.json) say(terminal, shown.slice(0, -1).join("\n"));
          await api.resume(runId, { decision, by: terminal.user });
        },
      );
    });

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
