// The command line over a real server, a real engine and a real Postgres; only the model is scripted.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { runCli } from "../../local/cli.ts";
import { isAlive } from "../../local/client/alive.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../local/server.ts";
import { pipedLines } from "../../local/terminal/lines.ts";
import type { Terminal } from "../../local/terminal/terminal.ts";
import type { Model } from "../../shared/ports/model.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

export interface Outcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface Bench {
  readonly folder: string;
  readonly databaseUrl: string;
  /** Runs a command line in the bench's folder. */
  toren(
    args: readonly string[],
    more?: {
      input?: string;
      /** Comes as it is typed; `input` comes at once. */
      typed?: AsyncIterable<string>;
      env?: NodeJS.ProcessEnv;
      signal?: AbortSignal;
      /** Filled while the command runs. */
      written?: { out: string; err: string };
    },
  ): Promise<Outcome>;
  /** The same with `--json`: its stdout parsed, which must be one document. */
  json(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<{ readonly status: number; readonly value: never }>;
  serve(model: Model, more?: Partial<ServerOptions>): Promise<RunningServer>;
  /** Past the API, to the database itself. */
  sql(text: string): Promise<void>;
  write(path: string, text: string): Promise<void>;
  close(): Promise<void>;
}

const ECHO = `name: echo
description: Says something.
roles:
  main: { model: mock/script, system: You answer. }
`;
const CREW = `name: crew
description: Two of a kind, then one that sums up.
roles:
  worker: { model: mock/script, system: You work. }
  writer: { model: mock/script, system: You write. }
`;
const CREW_MAIN = `import { defineWorkflow } from "toren";
export default defineWorkflow(async (ctx) => {
  const { results } = await ctx.wave("dig", [ctx.task("worker", "a"), ctx.task("worker", "b")], { onTaskFailure: "collect" });
  return await ctx.ask("writer", { found: results.map((r) => r.status) });
});
`;

export async function createBench(): Promise<Bench> {
  const database: TestDatabase = await testDatabase();
  const folder = await mkdtemp(join(tmpdir(), "toren-cli-"));
  const servers: RunningServer[] = [];
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await write("agents/echo/agent.yaml", ECHO);
  await write("agents/crew/agent.yaml", CREW);
  await write("agents/crew/workflows/main.ts", CREW_MAIN);

  const toren: Bench["toren"] = async (args, more = {}) => {
    const { input = "", typed = [input], env = {}, signal, written = { out: "", err: "" } } = more;
    const to = (name: "out" | "err") => ({
      write: (text: string) => {
        written[name] += text;
      },
      size: () => null,
      colour: false,
    });
    const terminal: Terminal = {
      out: to("out"),
      err: to("err"),
      env: { PATH: process.env.PATH, DATABASE_URL: database.url, ...env },
      workingFolder: folder,
      readInput: async () => input,
      lines: pipedLines(Readable.from(typed)),
      user: "ann",
      interrupted: signal ?? new AbortController().signal,
    };
    const status = await runCli(args, terminal);
    return { status, ...written };
  };
  return {
    folder,
    databaseUrl: database.url,
    toren,
    write,
    sql: async (text) => void (await database.database.pool.query(text)),
    json: async (args, env = {}) => {
      const { status, out } = await toren([...args, "--json"], { env });
      if (!/^[^\n]+\n$/.test(out)) throw new Error(`not one line of JSON: ${JSON.stringify(out)}`);
      return { status, value: JSON.parse(out) as never };
    },
    serve: async (model, more = {}) => {
      const log = { info: () => {}, warn: () => {}, error: () => {} };
      const server = await startServer(
        {
          stateFolder: join(folder, ".toren"),
          agentsFolder: join(folder, "agents"),
          databaseUrl: database.url,
          model: null,
          env: {},
          log,
          scripted: { "mock/script": model },
          port: 0,
          worker: true,
          kind: "dev",
          ...more,
        },
        isAlive,
      );
      servers.push(server);
      return server;
    },
    close: async () => {
      for (const server of servers) await server.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
