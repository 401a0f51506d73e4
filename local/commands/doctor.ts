// toren doctor: what is here, and whether it will do. Reads only: nothing is migrated or registered.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { checkDatabase } from "../../shared/adapters/database/checks.ts";
import { embeddedFiles } from "../../shared/adapters/database/embedded.ts";
import { modelRefusal } from "../../shared/adapters/model/models.ts";
import { checkSchemas } from "../../shared/adapters/store/migrate.ts";
import { problemText } from "../../shared/authoring/problem.ts";
import { messageOf, TorenError } from "../../shared/core/errors.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import { findServer } from "../client/connect.ts";
import { PROVIDER_VARIABLES, providersIn } from "../client/models.ts";
import { cacheFolderOf, openDatabase } from "../compose.ts";
import { loadAgents } from "../load/load-agents.ts";
import { prepareState, stateFolderOf } from "../state.ts";
import { type Finding, findingLines } from "../terminal/finding.ts";
import { shellWord, type Terminal } from "../terminal/terminal.ts";
import { counted } from "../terminal/units.ts";
import { type Context, EXIT, subcommand, writeJson } from "./context.ts";
import { encryptionFindings } from "./doctor-encryption.ts";

interface Options {
  readonly agents: string;
  readonly aws?: string | true;
  readonly json?: boolean;
}

const NODE_MAJOR_MIN = 24;

export const doctorCommand = (context: Context): Command =>
  subcommand("doctor", "check Node, database, agents, provider keys and server")
    .option("--agents <folder>", "where the agents are", "agents")
    .option("--aws [stack]", `a deployed stack instead, with your credentials of AWS (default: ${STACK_DEFAULT})`)
    .action((options: Options) => context.run(options.json, () => check(context, options)));

/** As cdk/app.ts names it. */
const STACK_DEFAULT = "Toren";

async function check(context: Context, options: Options): Promise<number> {
  if (options.aws === undefined) return await examine(context, options);
  const { terminal } = context;
  const stack = options.aws === true ? STACK_DEFAULT : options.aws;
  const { examineAws } = await import("./doctor-aws.ts");
  const findings = await examineAws(terminal, stack, options.agents);
  const ok = findings.every((f) => f.state !== "wrong");
  if (options.json) writeJson(terminal, { ok, findings });
  else terminal.out.write(findingLines(findings, terminal));
  return ok ? EXIT.done : EXIT.failed;
}

async function examine({ terminal }: Context, options: Options): Promise<number> {
  const state = await stateFinding(terminal);
  const agents = await agentFindings(terminal, options, state === null);
  const database = await databaseFindings(terminal, agents.names);
  const findings = [
    nodeFinding(),
    ...(state === null ? [] : [state]),
    ...database.findings,
    ...agents.findings,
    providerFinding(terminal),
    await serverFinding(terminal),
  ];
  const { psql } = database;
  if (options.json) writeJson(terminal, { ok: findings.every((f) => f.state !== "wrong"), psql, findings });
  else terminal.out.write(findingLines(findings, terminal));
  if (database.findings.some((f) => f.state === "wrong")) return EXIT.unreachable;
  return findings.some((f) => f.state === "wrong") ? EXIT.failed : EXIT.done;
}

/** Null: it can be used. Where it can't, the other checks go on. */
async function stateFinding({ env, workingFolder }: Terminal): Promise<Finding | null> {
  try {
    await prepareState(stateFolderOf(env, workingFolder));
    return null;
  } catch (e) {
    return { what: "state folder", state: "wrong", found: messageOf(e) };
  }
}

function nodeFinding(): Finding {
  const ok = Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN;
  return {
    what: "node",
    state: ok ? "ok" : "wrong",
    found: `${process.version}${ok ? "" : `; ${NODE_MAJOR_MIN} or newer is needed`}`,
  };
}

/** `psql`: a shell's command for people who read with SQL; null: there is no database to read. */
interface DatabaseFindings {
  readonly findings: readonly Finding[];
  readonly psql: string | null;
}

async function databaseFindings(terminal: Terminal, agents: readonly string[]): Promise<DatabaseFindings> {
  const { env, workingFolder } = terminal;
  const name = env.DATABASE_URL ? "database" : "embedded database";
  try {
    const database = await openDatabase(stateFolderOf(env, workingFolder), env.DATABASE_URL, { patienceMs: 0 });
    try {
      const checks = await checkDatabase(database.pool);
      const settings = checks.map(
        (check): Finding => ({
          what: check.what,
          state: check.ok ? "ok" : "wrong",
          found: `${check.found}${check.advice === "" ? "" : `. ${check.advice}`}`,
        }),
      );
      const psql = env.DATABASE_URL ? 'psql "$DATABASE_URL"' : embeddedPsql(terminal, database.url);
      const reach = env.DATABASE_URL ? psql : "while `toren dev` or a run is at work here, with";
      const findings: Finding[] = [
        { what: name, state: "ok", found: "answers" },
        ...settings,
        await schemaFinding(() => checkSchemas(database, agents)),
        ...(await encryptionFindings(database, env)),
        { what: "read with SQL", state: "note", found: reach, ...(env.DATABASE_URL ? {} : { command: psql }) },
      ];
      return { findings, psql };
    } finally {
      await database.close();
    }
  } catch (e) {
    return { findings: [{ what: name, state: "wrong", found: messageOf(e) }], psql: null };
  }
}

/** Names where the password is, not what it is. The port changes from start to start: line 4 of the server's own pid file has it. */
function embeddedPsql({ env, workingFolder }: Terminal, url: string): string {
  const { hostname, username, pathname } = new URL(url);
  const { password, pid } = embeddedFiles(stateFolderOf(env, workingFolder));
  const port = `$(sed -n 4p ${shellWord(pid)})`;
  return `PGPASSWORD=$(cat ${shellWord(password)}) psql -h ${hostname} -p ${port} -U ${username} ${pathname.slice(1)}`;
}

async function schemaFinding(look: () => Promise<void>): Promise<Finding> {
  try {
    await look();
    return { what: "schema", state: "ok", found: "this code can serve it" };
  } catch (e) {
    // A schema that isn't there yet is made by whoever needs it first.
    const missing = e instanceof TorenError && e.code === "schema.older";
    return { what: "schema", state: missing ? "note" : "wrong", found: messageOf(e) };
  }
}

async function agentFindings(
  terminal: Terminal,
  options: Options,
  hasState: boolean,
): Promise<{ findings: Finding[]; names: string[] }> {
  const folder = resolve(terminal.workingFolder, options.agents);
  const elsewhere = hasState ? null : await mkdtemp(join(tmpdir(), "toren-doctor-"));
  const cacheFolder = elsewhere ?? cacheFolderOf(stateFolderOf(terminal.env, terminal.workingFolder));
  const { agents, problems } = await loadAgents(folder, { env: terminal.env, cacheFolder });
  if (elsewhere !== null) await rm(elsewhere, { recursive: true, force: true });
  const loaded = agents.map((agent): Finding => {
    const models = [...new Set([...agent.roles.values()].map((role) => role.model))].join(", ");
    return {
      what: `agent ${agent.name}`,
      state: "ok",
      found: `${counted(agent.roles.size, "role")}, ${agent.processes.size === 1 ? "1 process" : `${agent.processes.size} processes`}; ${models}`,
    };
  });
  const broken = problems.map(
    (p): Finding => ({ what: p.agent === "" ? "agents" : `agent ${p.agent}`, state: "wrong", found: problemText(p) }),
  );
  const models = agents.flatMap((agent) => modelFindings(agent, terminal.env));
  return { findings: [...loaded, ...broken, ...models], names: agents.map((agent) => agent.name) };
}

/** Of roles whose model nobody here can ask: a line for each reason. A missing key is no fault, since `--model demo` does without. */
function modelFindings({ name, roles }: AgentDefinition, env: NodeJS.ProcessEnv): Finding[] {
  const byReason = new Map<string, { readonly state: Finding["state"]; readonly roles: string[] }>();
  for (const role of roles.values()) {
    const refused = modelRefusal(role.model, env);
    if (refused === null) continue;
    const entry = byReason.get(refused.message) ?? {
      state: refused.code === "model.auth" ? "note" : "wrong",
      roles: [],
    };
    entry.roles.push(role.name);
    byReason.set(refused.message, entry);
  }
  return [...byReason].map(
    ([reason, entry]): Finding => ({
      what: `models of ${name}`,
      state: entry.state,
      found: `${entry.roles.length === 1 ? "role" : "roles"} ${entry.roles.join(", ")}: ${reason}`,
    }),
  );
}

/** Names of variables, never what is in them. */
function providerFinding({ env }: Terminal): Finding {
  const found = providersIn(env);
  if (found.length > 0) return { what: "provider keys", state: "ok", found: `${found.join(", ")} set` };
  return {
    what: "provider keys",
    state: "note",
    found: `none of ${PROVIDER_VARIABLES.join(", ")}; \`toren run\` uses the demo model`,
  };
}

async function serverFinding(terminal: Terminal): Promise<Finding> {
  try {
    const found = await findServer(terminal);
    if (found === null) return { what: "server", state: "note", found: "none runs here; `toren dev` starts one" };
    await found.api.agents(); // the key fits, too
    return { what: "server", state: "ok", found: `answers at ${found.api.url}` };
  } catch (e) {
    return { what: "server", state: "wrong", found: messageOf(e) };
  }
}
