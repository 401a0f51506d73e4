// toren jobs approve, toren jobs deny: a person's decision about a call that waits. What is decided is shown first, and is what the decision names.
import type { Command } from "commander";
import { TorenError } from "../../shared/core/errors.ts";
import type { ApprovalJson, RunJson } from "../../shared/http/run-json.ts";
import { demandServer } from "../client/connect.ts";
import { wholeRunId } from "../client/run-id.ts";
import { mark, styleOf } from "../terminal/style.ts";
import { oneLine } from "../terminal/terminal.ts";
import { approvalLines, openApprovals } from "../terminal/waits.ts";
import { answered } from "./answered.ts";
import { type Context, say, subcommand } from "./context.ts";

interface Options {
  readonly call?: string;
  readonly comment?: string;
  readonly json?: boolean;
}

const decision = (name: string, description: string, comment: string): Command =>
  subcommand(name, description)
    .argument("<run>", "its id, or the beginning of it")
    .option("--call <id>", "which call, where several wait: its id, or the beginning of it")
    .option("--comment <text>", comment);

export const approveCommand = (context: Context): Command =>
  decision("approve", "allow a call that waits for approval", "kept in the run's log").action(
    (typed: string, options: Options) => context.run(options.json, () => decide(context, typed, options, true)),
  );

export const denyCommand = (context: Context): Command =>
  decision("deny", "deny a call that waits for approval", "why: the model reads it").action(
    (typed: string, options: Options) => context.run(options.json, () => decide(context, typed, options, false)),
  );

function decide({ terminal }: Context, typed: string, options: Options, granted: boolean): Promise<number> {
  const style = styleOf(terminal.err);
  const { user: by } = terminal;
  return answered(terminal, demandServer, options.json, {
    ask: async (api) => {
      const runId = await wholeRunId(api, typed);
      const asked = chosen(await api.run(runId), options.call);
      if (asked !== null && !options.json)
        terminal.err.write(`${approvalLines(asked, style, Date.now()).join("\n")}\n`);
      const call = asked?.key ?? options.call; // exactly what was shown, also where several have one id
      const { comment } = options;
      // Where nothing waits, the server knows why: decided by somebody, ended, or never asked.
      await api.approve(runId, {
        granted,
        by,
        ...(call === undefined ? {} : { call }),
        ...(comment === undefined ? {} : { comment }),
      });
      return { runId, call: asked?.call ?? call, tool: asked?.tool, args: asked?.args, granted, by };
    },
    show: () =>
      say(
        terminal,
        `  ${mark(granted ? "done" : "cancelled", style)} ${granted ? "Granted" : "Denied"} by ${oneLine(by)}.`,
      ),
  });
}

/** The call that is meant, by its id, its key, or the beginning of one; null: none waits that it could be. */
function chosen(run: RunJson, typed: string | undefined): ApprovalJson | null {
  const open = openApprovals(run);
  const named = open.filter(({ call, key }) => typed === undefined || call === typed || key === typed);
  const begun = open.filter(
    ({ call, key }) => typed !== undefined && (call.startsWith(typed) || key.startsWith(typed)),
  );
  const meant = named.length > 0 ? named : begun;
  const [only, ...others] = meant;
  if (others.length === 0) return only ?? null;
  const list = meant.map((asked) => `\n  ${nameOf(asked, open)}  ${asked.tool} ${oneLine(JSON.stringify(asked.args))}`);
  throw new TorenError("approval.ambiguous", `${meant.length} calls wait: name one with --call.${list.join("")}`);
}

const KEY_CHARS = 8;
/** Its id, unless another has it too. */
const nameOf = ({ call, key, taskId }: ApprovalJson, open: readonly ApprovalJson[]): string =>
  open.filter((other) => other.call === call).length > 1 ? `${key.slice(0, KEY_CHARS)} (${taskId})` : call;
