// A server inside the command's own process, for who runs a command without `toren dev` beside it.

import { resolve } from "node:path";
import { problemText } from "../../shared/authoring/problem.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { saidIfSlow } from "../said-if-slow.ts";
import { startServer } from "../server.ts";
import { leaseMsIn } from "../settings.ts";
import { type ServerRecord, stateFolderOf } from "../state.ts";
import { troubleLog } from "../terminal/log.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { isAlive } from "./alive.ts";
import { type DemoModel, type ModelChoice, startDemoModel } from "./models.ts";

export interface OwnServer {
  readonly record: ServerRecord;
  readonly key: string;
  close(): Promise<void>;
}

export interface OwnServerOptions {
  /** Null: it only reads runs. */
  readonly agentsFolder: string | null;
  /** The agent it is started for: broken, it isn't started at all. */
  readonly agent: string | null;
  readonly choice: ModelChoice;
  readonly worker: boolean;
  say(text: string): void;
}

/** With the rule-based model server beside it where that was chosen. Closing it ends both. */
export async function startOwnServer(terminal: Terminal, options: OwnServerOptions): Promise<OwnServer> {
  const { choice, say } = options;
  const demo = choice.demo ? await saidIfSlow("Starting the demo model …", say, startDemoModel(terminal.env)) : null;
  try {
    const server = await serve(terminal, options, demo);
    const broken = server.laptop.problems.filter((problem) => problem.agent === options.agent || problem.agent === "");
    if (broken.length > 0) {
      await server.close();
      throw new TorenError("agent.invalid", broken.map(problemText).join("\n  "));
    }
    if (options.worker) say(choice.notice);
    return {
      record: server.record,
      key: server.key,
      close: async () => {
        await server.close();
        await demo?.close();
      },
    };
  } catch (e) {
    await demo?.close();
    throw e;
  }
}

function serve(terminal: Terminal, { agentsFolder, choice, worker, say }: OwnServerOptions, demo: DemoModel | null) {
  const { env, workingFolder } = terminal;
  return startServer(
    {
      stateFolder: stateFolderOf(env, workingFolder),
      agentsFolder: agentsFolder === null ? null : resolve(workingFolder, agentsFolder),
      databaseUrl: env.DATABASE_URL,
      model: choice.model,
      env: demo?.env ?? env,
      log: troubleLog(say),
      port: 0,
      worker,
      kind: worker ? "run" : "reader",
      onProgress: say,
      ...leaseMsIn(env),
    },
    isAlive,
  );
}
