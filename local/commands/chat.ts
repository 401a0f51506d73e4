// toren chat: a conversation with an agent, on a terminal or over pipes.
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { closest } from "../../shared/core/closest.ts";
import { TorenError } from "../../shared/core/errors.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import type { Api } from "../client/api.ts";
import type { Connection } from "../client/connect.ts";
import { connectToWork } from "../client/connect-to-work.ts";
import { CHAT_HELP, commandOf, converse } from "../client/conversation.ts";
import { createFollower, type Follower } from "../client/follow.ts";
import { chooseModel } from "../client/models.ts";
import { wholeRunId } from "../client/run-id.ts";
import { UsageError } from "../client/usage-error.ts";
import { type Watching, watchLive } from "../client/watch-live.ts";
import { type ChatScreen, chatScreen } from "../terminal/chat-screen.ts";
import { styleOf } from "../terminal/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { accountLines } from "../terminal/tree.ts";
import { shortId } from "../terminal/units.ts";
import { type Context, EXIT, EXIT_INTERRUPTED, say, subcommand } from "./context.ts";

interface Options {
  readonly process?: string;
  readonly run?: string;
  readonly model?: string;
  readonly agents: string;
  readonly json?: boolean;
}

/** Of what was said before, shown to who comes back. */
const TURNS_BEFORE = 4;

export const chatCommand = (context: Context): Command =>
  subcommand("chat", "talk with an agent; with --json one JSON document a line")
    .argument("[agent]", "the agent's name; may be left out with --run")
    .option("--process <name>", "the agent's process (default: its session)")
    .option("--run <run>", "a session that is there: its id, or the beginning of it")
    .option("--model <name>", "`provider/name` for every role, or `demo`: the rule-based model server")
    .option("--agents <folder>", "where the agents are, for a server of its own", "agents")
    .action((agent: string | undefined, options: Options) =>
      context.run(options.json, () => chat(context, agent, options)),
    );

async function chat({ terminal }: Context, agent: string | undefined, options: Options): Promise<number> {
  if (agent === undefined && options.run === undefined)
    throw new UsageError("With whom? Give the agent's name, or a session with --run.");
  const screen = chatScreen(terminal, options.json === true);
  const choice = chooseModel(options.model, terminal.env, true);
  const { agents, model } = options;
  const open = (): Promise<Connection> =>
    connectToWork(terminal, { agent: agent ?? null, agents, model, choice, detach: false, say: screen.say });
  let connection = await open();
  try {
    const begun = await begin(terminal, screen, connection.api, agent, options);
    if (begun === null) return terminal.interrupted.aborted ? EXIT_INTERRUPTED : EXIT.done;
    const { runId, shown } = begun;
    const talk = { follower: null as Follower | null, over: new AbortController() };
    const watching = watchFor(terminal, options, {
      api: () => talk.follower?.api ?? connection.api,
      runId,
      after: () => talk.follower?.after ?? "",
      signal: AbortSignal.any([terminal.interrupted, talk.over.signal]),
      onSaying: (saying) => screen.saying(saying.find(({ stream }) => stream === CONVERSATION) ?? null),
    });
    const run = await converse({
      runId,
      shown,
      screen,
      lines: terminal.lines,
      user: terminal.user,
      interrupted: terminal.interrupted,
      follower: (onEvents) => {
        talk.follower = createFollower(connection.api, runId, {
          onRun: () => {},
          onEvents,
          onTrouble: screen.say,
          reconnect: async () => {
            if (connection.own || terminal.env.TOREN_URL) return null;
            connection = await open(); // its server ended: the session goes on elsewhere
            return connection.api;
          },
        });
        return talk.follower;
      },
    }).finally(() => talk.over.abort());
    await watching;
    return run === null ? leave(terminal, runId) : finish(terminal, screen, run, options);
  } finally {
    screen.rest();
    await connection.close();
  }
}

/** The stream of a session's one task. */
const CONVERSATION = "task:w0t0";

/** Only where there is somebody to see it. */
const watchFor = ({ err }: Terminal, { json }: Options, watching: Watching): Promise<void> =>
  err.size() === null || json === true ? Promise.resolve() : watchLive(watching);

/** The session to talk in, and the last of its turns that needn't be shown. Null: nothing was said, so nothing was started. */
async function begin(
  terminal: Terminal,
  screen: ChatScreen,
  api: Api,
  agent: string | undefined,
  options: Options,
): Promise<{ readonly runId: string; readonly shown: number } | null> {
  if (options.run !== undefined) return join(screen, api, await wholeRunId(api, options.run), agent);
  const name = agent ?? "";
  const process = await sessionOf(api, name, options.process);
  if (terminal.lines.interactive) screen.say(styleOf(terminal.err).dim(`${name}: say something. ${CHAT_HELP}`));
  for (;;) {
    const command = commandOf(await terminal.lines.next(screen.prompt, terminal.interrupted));
    if (command.type === "close") return null;
    if (command.type === "explain") screen.say(command.text);
    if (command.type !== "say") continue;
    const { runId } = await api.start({ agent: name, process, input: command.text, files: [] }, randomUUID());
    screen.started({ runId, agent: name });
    return { runId, shown: 0 };
  }
}

async function join(screen: ChatScreen, api: Api, runId: string, agent: string | undefined) {
  const run = await api.run(runId);
  if (agent !== undefined && run.agent !== agent)
    throw new UsageError(`Run ${runId} is of agent ${run.agent}, not of ${agent}.`);
  const turns = run.turns;
  if (turns === null)
    throw new TorenError(
      "run.not_a_session",
      `Run ${runId} is no session: \`toren jobs show ${shortId(runId)}\` shows it.`,
    );
  if (run.endedAt !== null)
    throw new TorenError(
      "run.ended",
      `The session ended at ${run.endedAt}: \`toren jobs show ${shortId(runId)}\` has what was said.`,
    );
  screen.started({ runId, agent: run.agent });
  screen.before(turns.slice(-TURNS_BEFORE));
  return { runId, shown: turns.at(-1)?.seq ?? -1 };
}

/** The process that is a conversation. */
async function sessionOf(api: Api, agent: string, process: string | undefined): Promise<string> {
  const agents = await api.agents();
  const found = agents.find(({ name }) => name === agent);
  if (found === undefined) {
    const names = agents.map(({ name }) => name);
    throw new TorenError("agent.unknown", `There is no agent "${agent}". ${closest(agent, names)}`);
  }
  const { sessions, processes } = found;
  if (process !== undefined && !processes.includes(process))
    throw new TorenError(
      "process.unknown",
      `Agent "${agent}" has no process "${process}". ${closest(process, processes)}`,
    );
  const name = process ?? (sessions.length === 1 ? sessions[0] : "main") ?? "main";
  if (sessions.includes(name)) return name;
  const others = sessions.length === 0 ? "It has no sessions" : `Its sessions: ${sessions.join(", ")}`;
  throw new TorenError(
    "run.not_a_session",
    `Process "${name}" of agent "${agent}" is no conversation: \`toren run ${agent}\` runs it. ${others}.`,
  );
}

function leave(terminal: Terminal, runId: string): number {
  const id = shortId(runId);
  say(
    terminal,
    `\nThe session is kept. \`toren chat --run ${id}\` comes back, \`toren jobs send ${id} --close\` closes it.`,
  );
  return EXIT_INTERRUPTED;
}

function finish(terminal: Terminal, screen: ChatScreen, run: RunJson, options: Options): number {
  screen.ended(run);
  const style = styleOf(terminal.err);
  if (!options.json) say(terminal, accountLines(run, style).map(style.dim).join("\n"));
  return run.status === "completed" ? EXIT.done : EXIT.failed;
}
