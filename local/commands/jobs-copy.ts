// toren jobs fork, toren jobs export: what is on record of a run, as the beginning of another one, and as lines of JSON.
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { demandServer } from "../client/connect.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { wholeRunId } from "../client/run-id.ts";
import { answered } from "./answered.ts";
import { type Context, EXIT, say, subcommand } from "./context.ts";

interface Options {
  readonly from?: string;
  readonly rerun?: boolean;
  readonly json?: boolean;
}

export const forkCommand = (context: Context): Command =>
  subcommand("fork", "start a run that begins with what another one has on record; its answers cost nothing")
    .argument("<run>", "its id, or the beginning of it")
    .option(
      "--from <step>",
      "where it begins to differ: w1, w1t0, w1t0/s2, step:NAME or run:PROCESS (default: at the end)",
    )
    .option("--rerun", "effects that the run had may be had again")
    .action((typed: string, options: Options) => context.run(options.json, () => fork(context, typed, options)));

const fork = ({ terminal }: Context, typed: string, { from, rerun = false, json }: Options): Promise<number> =>
  answered(terminal, demandServer, json, {
    ask: async (api) => {
      const forkedFrom = await wholeRunId(api, typed);
      const request = { rerun, by: terminal.user, ...(from === undefined ? {} : { from }) };
      const { runId, agent } = await api.fork(forkedFrom, request, randomUUID());
      return { runId, agent, forkedFrom };
    },
    show: ({ runId, forkedFrom }) => {
      terminal.out.write(`${runId}\n`);
      say(terminal, `Run ${forkedFrom} has been forked. \`toren jobs tail ${runId}\` follows the new one.`);
    },
  });

export const exportCommand = (context: Context): Command =>
  subcommand("export", "everything on record of a run, as lines of JSON")
    .argument("<run>", "its id, or the beginning of it")
    .action((typed: string, options: Options) => context.run(options.json, () => exportRun(context, typed)));

async function exportRun({ terminal }: Context, typed: string): Promise<number> {
  const connection = await connectToRead(terminal);
  try {
    const { api } = connection;
    const runId = await wholeRunId(api, typed);
    for (let after: string | null = null; ; ) {
      const { lines, next }: Awaited<ReturnType<typeof api.export>> = await api.export(runId, after);
      if (lines.length > 0) terminal.out.write(`${lines.join("\n")}\n`);
      if (next === null || terminal.interrupted.aborted) return EXIT.done;
      after = next;
    }
  } finally {
    await connection.close();
  }
}
