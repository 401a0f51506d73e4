// toren jobs cancel, toren jobs resume: what a person tells a run. Both need a server that works: the run's own writer acts on it.
import { setTimeout as wait } from "node:timers/promises";
import { type Command, Option } from "commander";
import { TorenError } from "../../shared/core/errors.ts";
import type { Api } from "../client/api.ts";
import { demandServer } from "../client/connect.ts";
import { wholeRunId } from "../client/run-id.ts";
import { styleOf } from "../terminal/style.ts";
import { waitLines } from "../terminal/waits.ts";
import { answered } from "./answered.ts";
import { type Context, say, subcommand } from "./context.ts";
import { positive } from "./run.ts";

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

/** How long a run that has failed may take to stop its other tasks. */
const STOPPING_MS = 60_000;
const LOOK_AGAIN_MS = 500;

export const retryCommand = (context: Context): Command =>
  subcommand("retry", "have a failed run go on: what failed is done again, what is recorded isn't")
    .argument("<run>", "its id, or the beginning of it")
    .option("--max-cost <usd>", "raise what the run may spend on models, in US dollars")
    .option("--max-tokens <n>", "raise how many tokens the run may use")
    .action((typed: string, options: Options & { readonly maxCost?: string; readonly maxTokens?: string }) =>
      steer(context, typed, options, "retried", async (api, runId) => {
        const { maxCost, maxTokens } = options;
        const limits = {
          ...(maxCost === undefined ? {} : { maxCostUsd: positive("--max-cost", maxCost) }),
          ...(maxTokens === undefined ? {} : { totalTokens: positive("--max-tokens", maxTokens) }),
        };
        await whenStopped(() => api.retry(runId, { by: context.terminal.user, limits }));
      }),
    );

/** Tasks of a run that has just failed are still being stopped. */
async function whenStopped(act: () => Promise<void>): Promise<void> {
  for (const end = performance.now() + STOPPING_MS; ; await wait(LOOK_AGAIN_MS)) {
    try {
      return await act();
    } catch (e) {
      if (!(e instanceof TorenError && e.code === "run.stopping") || performance.now() > end) throw e;
    }
  }
}

const steer = (
  { terminal, run }: Context,
  typed: string,
  options: Options,
  done: string,
  act: (api: Api, runId: string) => Promise<void>,
): Promise<void> =>
  run(options.json, () =>
    answered(terminal, demandServer, options.json, {
      ask: async (api) => {
        const runId = await wholeRunId(api, typed);
        await act(api, runId);
        return { runId };
      },
      show: ({ runId }) => say(terminal, `Run ${runId} has been ${done}.`),
    }),
  );
