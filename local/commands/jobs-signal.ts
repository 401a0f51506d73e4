// toren jobs signal: tells a workflow what it waits for, now or later.
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import type { Json } from "../../shared/core/json.ts";
import { demandServer } from "../client/connect.ts";
import { wholeRunId } from "../client/run-id.ts";
import { UsageError } from "../client/usage-error.ts";
import { shortId } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, say, subcommand } from "./context.ts";

interface Options {
  readonly text?: boolean;
  readonly json?: boolean;
}

export const signalCommand = (context: Context): Command =>
  subcommand("signal", "send a signal to a run's workflow; it is kept until the workflow waits for it")
    .argument("<run>", "its id, or the beginning of it")
    .argument("<name>", "the signal's name, as the workflow waits for it")
    .argument("[value]", "JSON; `-` reads the standard input (default: null)")
    .option("--text", "the value is a text, not JSON")
    .action((typed: string, name: string, value: string | undefined, options: Options) =>
      context.run(options.json, () => signal(context, typed, name, value, options)),
    );

async function signal(
  { terminal }: Context,
  typed: string,
  name: string,
  given: string | undefined,
  options: Options,
): Promise<number> {
  const written = given === "-" ? await terminal.readInput() : given;
  const value = options.text ? (written ?? "") : asJson(written);
  return await answered(terminal, demandServer, options.json, {
    ask: async (api) => {
      const runId = await wholeRunId(api, typed);
      await api.signal(runId, { signal: name, value }, randomUUID());
      return { runId };
    },
    show: ({ runId }) => say(terminal, `Sent. \`toren jobs tail ${shortId(runId)}\` follows the run.`),
  });
}

function asJson(written: string | undefined): Json {
  if (written === undefined) return null;
  try {
    return JSON.parse(written) as Json;
  } catch {
    throw new UsageError(`The value isn't JSON: ${JSON.stringify(written)}. With --text it is taken as a text.`);
  }
}
