// toren plan: what the agents' code in this folder would make of runs that go on, before it is deployed.
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { withModel } from "../../shared/authoring/define-agent.ts";
import { problemText } from "../../shared/authoring/problem.ts";
import { closest } from "../../shared/core/closest.ts";
import { TorenError } from "../../shared/core/errors.ts";
import { RUNS_PAGE_MAX } from "../../shared/core/limits.ts";
import { RUN_STATUSES } from "../../shared/core/run-status.ts";
import { type EditPlan, type PlannedCut, planEdit } from "../../shared/engine/plan-edit.ts";
import type { RunSummary } from "../../shared/http/run-json.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import type { Api } from "../client/api.ts";
import { type Connection, findServer } from "../client/connect.ts";
import { connectToRead } from "../client/connect-to-read.ts";
import { chooseModel } from "../client/models.ts";
import { wholeRunId } from "../client/run-id.ts";
import { readRecord } from "../client/run-record.ts";
import { UsageError } from "../client/usage-error.ts";
import { loadAgents } from "../load/load-agents.ts";
import { stateFolderOf } from "../state.ts";
import { mark, type Style, styleOf } from "../terminal/style.ts";
import { cut, oneLine, type Terminal } from "../terminal/terminal.ts";
import { cost, counted, shortId } from "../terminal/units.ts";
import { answered } from "./answered.ts";
import { type Context, say, subcommand } from "./context.ts";

interface Options {
  readonly agent?: string;
  readonly agents: string;
  readonly model?: string;
  readonly json?: boolean;
}

interface Planned extends EditPlan {
  readonly runId: string;
  readonly agent: string;
  readonly status: string;
}

export const planCommand = (context: Context): Command =>
  subcommand("plan", "what this folder's code would cut of runs that go on, and what that would cost")
    .argument("[run]", "one run: its id, or the beginning of it (default: all that go on)")
    .option("--agent <name>", "only this agent's")
    .option("--agents <folder>", "where the agents are", "agents")
    .option("--model <name>", "as the server has it (default: as the one that runs here has it)")
    .action((typed: string | undefined, options: Options) =>
      context.run(options.json, () => plan(context, typed, options)),
    );

async function plan({ terminal }: Context, typed: string | undefined, options: Options): Promise<number> {
  const found = await findServer(terminal);
  const agents = await agentsOf(terminal, options, found);
  return await answered(terminal, connectToRead, options.json, {
    ask: async (api) => {
      const { runs, more } = await openRuns(api, typed, [...agents.keys()]);
      const planned: Planned[] = [];
      for (const { runId, agent, status } of runs) {
        const definition = agents.get(agent);
        if (definition === undefined || terminal.interrupted.aborted) continue;
        planned.push({ runId, agent, status, ...(await planEdit(definition, await readRecord(api, runId))) });
      }
      return { runs: planned, more };
    },
    show: ({ runs, more }) => show(terminal, runs, more),
  });
}

/** The code as it lies here. Whatever is wrong with it is said, and nothing is planned: it couldn't be deployed. */
async function agentsOf(
  { env, workingFolder }: Terminal,
  { agent, agents: folder, model }: Options,
  server: Connection | null,
): Promise<ReadonlyMap<string, AgentDefinition>> {
  const cacheFolder = join(stateFolderOf(env, workingFolder), "cache");
  const { agents, problems } = await loadAgents(resolve(workingFolder, folder), { env, cacheFolder });
  const broken = problems.filter((problem) => agent === undefined || problem.agent === agent || problem.agent === "");
  if (broken.length > 0)
    throw new TorenError("agent.invalid", `It can't be deployed:\n  ${broken.map(problemText).join("\n  ")}`);
  const all = model === undefined ? (server?.record?.model ?? null) : chooseModel(model, env, false).model;
  const own = agents.map((one) => [one.name, all === null ? one : withModel(one, all)] as const);
  const wanted = own.filter(([name]) => agent === undefined || name === agent);
  if (agent !== undefined && wanted.length === 0)
    throw new UsageError(
      `There is no agent "${agent}" in ${folder}/. ${closest(
        agent,
        own.map(([name]) => name),
      )}`,
    );
  return new Map(wanted);
}

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);
const OPEN = RUN_STATUSES.filter((status) => !ENDED.has(status));

/** The newest page of those that go on; `more`: there are others. */
async function openRuns(
  api: Api,
  typed: string | undefined,
  agents: readonly string[],
): Promise<{ readonly runs: readonly Pick<RunSummary, "runId" | "agent" | "status">[]; readonly more: boolean }> {
  if (typed !== undefined) return { runs: [await api.run(await wholeRunId(api, typed))], more: false };
  if (agents.length === 0) return { runs: [], more: false };
  const page = await api.list({ agent: agents.join(","), status: OPEN.join(","), limit: String(RUNS_PAGE_MAX) });
  return { runs: page.runs, more: page.next !== null };
}

function show(terminal: Terminal, runs: readonly Planned[], more: boolean): void {
  const style = styleOf(terminal.out);
  const columns = terminal.out.size()?.columns ?? Number.POSITIVE_INFINITY;
  for (const run of runs) terminal.out.write(`${linesOf(run, style, columns).join("\n")}\n`);
  const touched = runs.filter((run) => run.cuts.length > 0 || run.fails !== null).length;
  if (runs.length === 0) say(terminal, "No run goes on that this code could touch.");
  else say(terminal, `${counted(touched, "run")} of ${runs.length} would be touched. Nothing was changed.`);
  if (more) say(terminal, `There are more: only the newest ${RUNS_PAGE_MAX} were looked at.`);
}

function linesOf(
  { runId, agent, status, cuts, fails, anew, kept, children }: Planned,
  style: Style,
  columns: number,
): string[] {
  const asks = cuts.some(({ calls }) => calls.length > 0);
  const state = fails !== null ? "failed" : asks ? "parked" : cuts.length > 0 ? "cancelled" : "done";
  const what =
    fails !== null
      ? style.red("would fail")
      : asks
        ? style.yellow("would ask a person")
        : cuts.length > 0
          ? "would be cut"
          : style.dim("goes on as it is");
  return [
    `${mark(state, style)} ${style.bold(agent)} ${style.dim(shortId(runId))}  ${what}  ${style.dim(status)}`,
    ...(fails === null ? [] : [cut(`    ${fails.code}: ${oneLine(fails.message)}`, columns)]),
    ...cuts.flatMap((one) => cutLines(one, columns)),
    ...(children.length === 0
      ? []
      : [`    not taken over: ${counted(children.length, "child run")}, with what they did and cost`]),
    ...(anew + kept === 0 ? [] : [`    of its new plan ${counted(kept, "task")} free, ${anew} anew`]),
  ];
}

function cutLines({ stream, reason, calls, price }: PlannedCut, columns: number): string[] {
  const paid =
    price.modelCalls === 0
      ? "nothing is paid again"
      : `${stream === "run" ? "at most " : ""}${counted(price.modelCalls, "model call")} paid again, ${cost(price.usd, price.simulated)}`;
  return [
    cut(`    ${stream}: ${oneLine(reason)}`, columns),
    `      ${paid}`,
    ...(calls.length === 0 ? [] : [cut(`      would be done again: ${oneLine(calls.join(", "))}`, columns)]),
  ];
}
