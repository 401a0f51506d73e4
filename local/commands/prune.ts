// toren prune, toren jobs erase: runs are forgotten, for ever.
import { type Command, InvalidArgumentError } from "commander";
import { durationMs } from "../../shared/core/time.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { wholeRunId } from "../client/run-id.ts";
import { UsageError } from "../client/usage-error.ts";
import { counted } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, say, subcommand } from "./context.ts";

interface Options {
  readonly olderThan: string;
  readonly agent?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

function parseAge(text: string): string {
  if (durationMs(text) === null) throw new InvalidArgumentError("A length of time is expected, such as 12h or 30d.");
  return text;
}

export const pruneCommand = (context: Context): Command =>
  subcommand("prune", "erase runs that ended long ago, with everything on record of them")
    .requiredOption("--older-than <time>", "how long ago they ended: 12h, 30d", parseAge)
    .option("--agent <name>", "only this agent's (default: all)")
    .option("--dry-run", "only say how many there are")
    .action((options: Options) => context.run(options.json, () => prune(context, options)));

const prune = ({ terminal }: Context, { olderThan, agent, dryRun = false, json }: Options): Promise<number> =>
  answered(terminal, connectToRead, json, {
    ask: async (api) => {
      const agents = agent === undefined ? (await api.agents()).map((a) => a.name) : [agent];
      let [runs, events] = [0, 0];
      for (const name of agents)
        for (let more = true; more && !terminal.interrupted.aborted; ) {
          const pruned = await api.prune({ agent: name, olderThan, dryRun });
          runs += pruned.runs;
          events += pruned.events;
          more = pruned.more;
        }
      return { runs, events, dryRun };
    },
    show: ({ runs, events }) =>
      say(
        terminal,
        `${counted(runs, "run")} with ${counted(events, "event")} ${dryRun ? "would be erased" : "erased"}.`,
      ),
  });

export const eraseCommand = (context: Context): Command =>
  subcommand("erase", "forget a run that has ended, with everything on record of it, for ever")
    .argument("<run>", "its id, or the beginning of it")
    .option("--yes", "it is meant")
    .action((typed: string, options: { readonly yes?: boolean; readonly json?: boolean }) =>
      context.run(options.json, async () => {
        const { terminal } = context;
        if (options.yes !== true) throw new UsageError("Nothing brings an erased run back. Say --yes if it is meant.");
        return await answered(terminal, connectToRead, options.json, {
          ask: async (api) => {
            const runId = await wholeRunId(api, typed);
            await api.erase(runId);
            return { erased: runId };
          },
          show: ({ erased }) => say(terminal, `Run ${erased} has been erased.`),
        });
      }),
    );
