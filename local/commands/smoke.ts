// toren smoke: whether a server that was just deployed does what it should, seen from outside: one line a check, one run that is really worked on.
import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { messageOf, TorenError } from "../../shared/core/errors.ts";
import { newKey } from "../../shared/http/auth.ts";
import type { RunJson } from "../../shared/http/run-json.ts";
import type { AgentJson, Api } from "../client/api.ts";
import { demandServer } from "../client/connect.ts";
import { followRun } from "../client/follow.ts";
import { type Mark, mark, styleOf } from "../terminal/style.ts";
import { oneLine, type Terminal } from "../terminal/terminal.ts";
import { cost, counted, duration } from "../terminal/units.ts";
import { type Context, EXIT, parseCount, subcommand, writeJson } from "./context.ts";

interface Options {
  readonly agent?: string;
  readonly input: string;
  readonly timeout: number;
  readonly json?: boolean;
}

interface Check {
  readonly what: string;
  readonly ok: boolean;
  readonly found: string;
}

const TIMEOUT_S = 300;

export const smokeCommand = (context: Context): Command =>
  subcommand("smoke", "check a deployed server from outside: one run, and what its API says of it")
    .option("--agent <name>", "whom to ask (default: the first that isn't a conversation)")
    .option("--input <text>", "what to ask", "Answer with one short sentence.")
    .option("--timeout <seconds>", "how long the run may take", parseCount, TIMEOUT_S)
    .action((options: Options) => context.run(options.json, () => smoke(context, options)));

async function smoke({ terminal }: Context, options: Options): Promise<number> {
  const { api, close } = await demandServer(terminal);
  const checks: Check[] = [];
  /** Null: it failed, and what needs it is left out. */
  const check = async <T>(what: string, look: () => Promise<readonly [T, string]>): Promise<T | null> => {
    try {
      const [value, found] = await look();
      show(terminal, options, checks, { what, ok: true, found });
      return value;
    } catch (e) {
      show(terminal, options, checks, { what, ok: false, found: messageOf(e) });
      return null;
    }
  };
  try {
    await check("health", () => answersHealth(api));
    await check("strangers", () => refusesStrangers(api));
    const agent = await check("agents", () => findAgent(api, options));
    const runId = agent && (await check("start", () => startTwice(api, agent, options)));
    if (runId !== null) {
      await check("run", () => followed(api, runId, terminal, options));
      await check("log", () => readsLog(api, runId));
    }
  } finally {
    await close();
  }
  const ok = checks.every((one) => one.ok);
  if (options.json) writeJson(terminal, { ok, url: api.url, checks });
  return ok ? EXIT.done : EXIT.failed;
}

function show(terminal: Terminal, { json }: Options, checks: Check[], one: Check): void {
  checks.push(one);
  if (json === true) return;
  const state: Mark = one.ok ? "done" : "failed";
  terminal.out.write(`${mark(state, styleOf(terminal.out))} ${one.what.padEnd(10)} ${oneLine(one.found)}\n`);
}

const wrong = (message: string): TorenError => new TorenError("server.unreachable", message);

async function answersHealth(api: Api): Promise<readonly [true, string]> {
  const start = performance.now();
  if (!(await api.healthy())) throw wrong(`${api.url}/healthz doesn't answer "ok"`);
  return [true, `${api.url} answers in ${duration(performance.now() - start)}`];
}

/** Without a key, and with a whole one that it doesn't know. */
async function refusesStrangers(api: Api): Promise<readonly [true, string]> {
  const ask = async (headers: Record<string, string>) => (await fetch(`${api.url}/agents`, { headers })).status;
  for (const status of [await ask({}), await ask({ authorization: `Bearer ${newKey()}` })])
    if (status !== 401) throw wrong(`a request without a key of this server is answered with ${status}, not 401`);
  return [true, "nobody gets in without a key"];
}

async function findAgent(api: Api, { agent: wanted }: Options): Promise<readonly [AgentJson, string]> {
  const agents = await api.agents();
  const found = agents.find(({ name, sessions }) =>
    wanted === undefined ? !sessions.includes("main") : name === wanted,
  );
  const names = agents.map(({ name, generation }) => `${name} (generation ${generation})`).join(", ");
  if (found === undefined) throw wrong(`none to ask among ${names || "none at all"}`);
  return [found, names];
}

/** A client that lost the answer asks again under the same key: one run. */
async function startTwice(api: Api, { name }: AgentJson, { input }: Options): Promise<readonly [string, string]> {
  const key = `smoke-${randomUUID()}`;
  const request = { agent: name, input, files: [] };
  const first = await api.start(request, key);
  const again = await api.start(request, key);
  if (first.runId !== again.runId) throw wrong(`one Idempotency-Key started ${first.runId} and ${again.runId}`);
  return [first.runId, `${name}, run ${first.runId}; asked twice under one key, started once`];
}

async function followed(
  api: Api,
  runId: string,
  terminal: Terminal,
  { timeout }: Options,
): Promise<readonly [RunJson, string]> {
  const start = performance.now();
  const signal = AbortSignal.any([AbortSignal.timeout(timeout * 1_000), terminal.interrupted]);
  const run = await followRun(api, runId, {
    signal,
    onRun: () => {},
    onTrouble: () => {},
    reconnect: async () => null,
    until: waitsForPeople,
  });
  if (run === null)
    throw wrong(`it hasn't ended after ${timeout} s: \`toren jobs show ${runId}\` says what it waits for`);
  const took = duration(performance.now() - start);
  if (run.status === "failed") throw wrong(`failed after ${took}: ${run.error?.message ?? "no reason given"}`);
  const { modelCalls, repaid } = run.receipt;
  if (repaid > 0) throw wrong(`${repaid} recorded answers were paid again`);
  return [run, `${run.status} in ${took}, ${counted(modelCalls, "model call")}, ${cost(run.costUsd, run.simulated)}`];
}

/** It can't go on without somebody, and got as far as that. */
const waitsForPeople = (run: RunJson): boolean => run.status === "waitingApproval" || run.status === "awaitingInput";

async function readsLog(api: Api, runId: string): Promise<readonly [true, string]> {
  let [after, events] = ["", 0];
  for (;;) {
    const page = await api.events(runId, { after });
    if (events === 0 && page.events[0]?.type !== "RunCreated") throw wrong("its log doesn't begin with RunCreated");
    events += page.events.length;
    if (!page.more) return [true, `${events} events, page by page`];
    after = page.next;
  }
}
