// toren jobs send: says something in a session, or closes it.
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { demandServer } from "../client/connect.ts";
import { wholeRunId } from "../client/run-id.ts";
import { UsageError } from "../client/usage-error.ts";
import { shortId } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, say, subcommand } from "./context.ts";

interface Options {
  readonly close?: boolean;
  readonly steer?: boolean;
  readonly json?: boolean;
}

export const sendCommand = (context: Context): Command =>
  subcommand("send", "say something in a session")
    .argument("<run>", "its id, or the beginning of it")
    .argument("[text]", "what is said; `-` reads the standard input. May be left out with --close")
    .option("--close", "the session ends with the answer; without a text at once")
    .option("--steer", "to be read at the next step of the turn under way, not at its end")
    .action((typed: string, text: string | undefined, options: Options) =>
      context.run(options.json, () => send(context, typed, text, options)),
    );

async function send(
  { terminal }: Context,
  typed: string,
  given: string | undefined,
  options: Options,
): Promise<number> {
  const { close = false, steer = false } = options;
  if (given === undefined && !close) throw new UsageError("What is to be said? Give a text, or --close.");
  const text = given === "-" ? await terminal.readInput() : (given ?? "");
  return await answered(terminal, demandServer, options.json, {
    ask: async (api) => {
      const runId = await wholeRunId(api, typed);
      await api.send(runId, { text, close, steer }, randomUUID());
      return { runId };
    },
    show: ({ runId }) => {
      if (text.trim() === "") say(terminal, `Session ${runId} has been closed.`);
      else say(terminal, `Sent. \`toren jobs show ${shortId(runId)}\` has the conversation.`);
    },
  });
}
