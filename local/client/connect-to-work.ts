// For commands that start or follow work: the server that is there, else one of their own that works on it.
import type { Terminal } from "../terminal/terminal.ts";
import { type Connection, connect } from "./connect.ts";
import type { ModelChoice } from "./models.ts";
import { startOwnServer } from "./own-server.ts";
import { UsageError } from "./usage-error.ts";

export interface WorkOptions {
  /** What it is for: broken, no server is started. Null: a run whose agent isn't known yet. */
  readonly agent: string | null;
  readonly agents: string;
  /** As `--model` said; undefined: it wasn't given. */
  readonly model: string | undefined;
  readonly choice: ModelChoice;
  /** The command ends before its work does, so a server of its own is of no use. */
  readonly detach: boolean;
  say(text: string): void;
}

/** @throws UsageError when the server that is there can't have the model that was asked for. */
export async function connectToWork(terminal: Terminal, options: WorkOptions): Promise<Connection> {
  const { agent, agents, model, choice, detach, say } = options;
  const start = () => {
    if (detach)
      throw new UsageError("--detach needs a server that stays: start one with `toren dev`, or set TOREN_URL.");
    return startOwnServer(terminal, { agentsFolder: agents, agent, choice, worker: true, say });
  };
  const connection = await connect(terminal, start);
  if (connection.own || model === undefined || connection.record?.model === choice.model) return connection;
  const where =
    connection.record === null ? "The server at TOREN_URL" : `The server that runs here (${connection.record.url})`;
  throw new UsageError(
    `${where} has models of its own, so --model ${model} can't be had of it. Start it with that option (toren dev --model ${model}), or use another TOREN_HOME.`,
  );
}
