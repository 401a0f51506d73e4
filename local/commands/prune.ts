// toren prune, toren jobs erase: runs are forgotten, for ever.
import { type Command, InvalidArgumentError } from "commander";
import { durationMs } from "../../shared/core/time.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { wholeRunId } from "../client/run-id.ts";
import { UsageError } from "../client/usage-error.ts";
import { counted } from "../terminal/units.ts";
import { type Context, EXIT, say, subcommand, writeJson } from "./context.ts";

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

async function prune({ terminal }: Context, { olderThan, agent, dryRun = false, json }: Options): Promise<number> {
  const connection = await connectToRead(terminal);
  try {
    const { api } = connection;
    const known = (await api.agents()).map((a) => a.name);
    const agents = agent === undefined ? known : [agent];
    let [runs, events] = [0, 0];
    for (const name of agents)
      for (let more = true; more && !terminal.interrupted.aborted; ) {
        const pruned = await api.prune({ agent: name, olderThan, dryRun });
        runs += pruned.runs;
        events += pruned.events;
        more = pruned.more;
      }
    if (json) writeJson(terminal, { runs, events, dryRun });
    else
      say(
        terminal,
        `${counted(runs, "run")} with ${counted(events, "event")} ${dryRun ? "would be" : "erased"}${dryRun ? " erased" : ""}.`,
      );
    return EXIT.done;
  } finally {
    await connection.close();
  }
}

export const eraseCommand = (context: Context): Command =>
  subcommand("erase", "forget a run that has ended, with everything on record of it, for ever")
    .argument("<run>", "its id, or the beginning of it")
    .option("--yes", "it is meant")
    .action((typed: string, options: { readonly yes?: boolean; readonly json?: boolean }) =>
      context.run(options.json, async () => {
        const { terminal } = context;
        if (options.yes !== true) throw new UsageError("Nothing brings an erased run back. Say --yes if it is meant.");
        const connection = await connectToRead(terminal);
        try {
          const runId = await wholeRunId(connection.api, typed);
          await connection.api.erase(runId);
          if (options.json) writeJson(terminal, { erased: runId });
          else say(terminal, `Run ${runId} has been erased.`);
          return EXIT.done;
        } finally {
          await connection.close();
        }
      }),
    );
