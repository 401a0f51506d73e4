// GET /overview: what people look at first, over all agents that the key may see.
import * as z from "zod";
import { usdOf } from "../core/cost.ts";
import { jsonBytes } from "../core/json.ts";
import {
  FIGURES_MAX,
  OVERVIEW_ARGS_BYTES,
  OVERVIEW_ERRORS,
  OVERVIEW_STUCK_MAX,
  OVERVIEW_WAITING_MAX,
  OVERVIEW_WAITING_RUNS,
  STUCK_AFTER_MS,
} from "../core/limits.ts";
import { RUN_STATUSES } from "../core/run-status.ts";
import type { RunWaiting, StuckStream } from "../ports/overview.ts";
import { seenBy } from "./access.ts";
import type { HttpContext, HttpDeps } from "./deps.ts";
import { approval, approvalJson, cut, cutJson, rfc3339, runSummary, summaryJson, time } from "./run-json.ts";

const count = z.int().nonnegative();

const waiting = z.object({
  runId: z.string(),
  agent: z.string(),
  process: z.string(),
  status: z.enum(RUN_STATUSES),
  createdAt: time,
  approvals: z.array(
    approval.omit({ decided: true }).extend({
      omitted: z
        .boolean()
        .meta({ description: `\`args\` has more than ${OVERVIEW_ARGS_BYTES} bytes and is left out: see the run.` }),
    }),
  ),
  cuts: z.array(cut),
});

const stuck = z.object({
  runId: z.string(),
  agent: z.string(),
  process: z.string(),
  stream: z.string().meta({ description: "`run`, or `task:<taskId>`." }),
  role: z.string().nullable(),
  why: z.enum(["crashing", "steppedBack", "unclaimed", "silent"]).meta({
    description:
      "`crashing`: its workers die; `steppedBack`: its writer gave up for now, `problem` says why; `unclaimed`: nobody takes it; `silent`: its worker is gone and nobody came.",
  }),
  attempts: count.meta({ description: "Workers that took it since it last got on." }),
  problem: z.object({ code: z.string(), message: z.string() }).nullable(),
  since: time.meta({ description: "When something last happened to it." }),
});

export const overview = z.object({
  runs: z
    .record(z.enum(RUN_STATUSES), count)
    .meta({ description: `How many are in which status; of each at most ${FIGURES_MAX} are counted.` }),
  waiting: z.array(waiting).meta({
    description: `Runs that wait for a person's decision, the oldest ${OVERVIEW_WAITING_RUNS} of an agent and ${OVERVIEW_WAITING_MAX} of their questions.`,
  }),
  stuck: z.array(stuck).meta({
    description: `Work that doesn't go on for ${STUCK_AFTER_MS / 1_000} s, whose workers die or step back; ${OVERVIEW_STUCK_MAX} at most of an agent.`,
  }),
  errors: z.array(runSummary).meta({ description: `The newest ${OVERVIEW_ERRORS} runs that failed.` }),
  today: z.object({
    costUsd: z
      .number()
      .meta({ description: "US dollars, of the answers recorded on this day (UTC) whose price is known." }),
    simulated: z.boolean().meta({ description: "A price in it is made up." }),
  }),
});
export type OverviewJson = z.infer<typeof overview>;

export async function showOverview(c: HttpContext, deps: HttpDeps): Promise<Response> {
  const agents = seenBy(c, await deps.overview.agents());
  const failed = { agents, statuses: ["failed" as const], limit: OVERVIEW_ERRORS };
  const [parts, errors] = await Promise.all([
    Promise.all(agents.map((agent) => partOf(deps, agent))),
    deps.store.runs.list(failed),
  ]);
  const counts = Object.fromEntries(
    RUN_STATUSES.map((status) => [status, parts.reduce((sum, part) => sum + (part.counts[status] ?? 0), 0)]),
  );
  const nano = parts.reduce((sum, part) => sum + part.paid.nanoUsd, 0);
  const answer: OverviewJson = {
    runs: counts as OverviewJson["runs"],
    waiting: oldestFirst(parts.flatMap((part) => part.waiting)),
    stuck: parts.flatMap((part) => part.stuck).sort((a, b) => (a.since < b.since ? -1 : 1)),
    errors: errors.runs.map(summaryJson),
    today: { costUsd: usdOf(nano), simulated: parts.some((part) => part.paid.simulated) },
  };
  return c.json(answer);
}

async function partOf({ overview }: HttpDeps, agent: string) {
  const [counts, waiting, stuck, paid] = await Promise.all([
    overview.counts(agent),
    overview.waiting(agent),
    overview.stuck(agent),
    overview.paidToday(agent),
  ]);
  return {
    counts,
    paid,
    waiting: waiting.map((run) => waitingJson(agent, run)),
    stuck: stuck.map((stream) => stuckJson(agent, stream)),
  };
}

const oldestFirst = (runs: OverviewJson["waiting"]): OverviewJson["waiting"] =>
  runs.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));

const waitingJson = (agent: string, run: RunWaiting): OverviewJson["waiting"][number] => ({
  runId: run.runId,
  agent,
  process: run.process,
  status: run.status,
  createdAt: rfc3339(run.createdAt),
  approvals: run.approvals.map(askedJson),
  cuts: run.cuts.map(cutJson),
});

function askedJson(asked: RunWaiting["approvals"][number]): OverviewJson["waiting"][number]["approvals"][number] {
  const { decided: _, ...rest } = approvalJson(asked);
  const omitted = asked.large || jsonBytes(asked.args) > OVERVIEW_ARGS_BYTES;
  return { ...rest, args: omitted ? null : rest.args, omitted };
}

const stuckJson = (
  agent: string,
  { streamId: stream, since, ...rest }: StuckStream,
): OverviewJson["stuck"][number] => ({
  ...rest,
  agent,
  stream,
  since: rfc3339(since),
});
