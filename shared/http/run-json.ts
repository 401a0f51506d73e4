// What GET /runs and GET /runs/{runId} answer with: the engine's view in a client's form. The schemas are the API's description and the CLI's types.
import * as z from "zod";
import { usdOf } from "../core/cost.ts";
import { TURNS_PAGE } from "../core/limits.ts";
import { json, totalTokens, usage } from "../core/messages.ts";
import { RUN_STATUSES } from "../core/run-status.ts";
import type { RunView, TaskView } from "../engine/read-run.ts";
import type { Turn, TurnsPage } from "../engine/read-turns.ts";
import type { WaitingCut } from "../ports/overview.ts";
import type { ListedRun, RunOutline } from "../ports/store.ts";
import { family, familyJson, spentJson } from "./family-json.ts";
import { count, error, rfc3339, time, timeOrNull, usd } from "./json-parts.ts";

export { rfc3339, time } from "./json-parts.ts";

const simulated = z.boolean().meta({ description: "A price in it is made up: rule-based and scripted models." });
const accounts = {
  usage,
  costUsd: usd,
  simulated,
  receipt: z.object({
    modelCalls: count.meta({ description: "Answers on record, each paid once." }),
    replayed: count.meta({ description: "Recorded answers that a resumed task used again instead of asking." }),
    repaid: count.meta({ description: "Answers paid although the same was on record." }),
    unanswered: count.meta({ description: "Questions sent whose answer was never recorded." }),
    savedTokens: count,
    savedUsd: usd,
  }),
};

export const runSummary = z.object({
  runId: z.string(),
  agent: z.string(),
  process: z.string(),
  mode: z.enum(["task", "session"]),
  status: z.enum(RUN_STATUSES),
  error: error.nullable(),
  generation: count.meta({ description: "Of the agent's code that started it." }),
  attributes: z.record(z.string(), z.string()).meta({ description: "Labels that its starter gave it." }),
  parent: z.string().nullable().meta({ description: "The run whose workflow started it; null: it is nobody's child." }),
  modelCalls: count.meta({ description: "Answers on record, each paid once." }),
  tokens: count.meta({ description: "Of them, in and out." }),
  costUsd: usd,
  simulated,
  createdAt: time,
  endedAt: time.nullable(),
});
export type RunSummary = z.infer<typeof runSummary>;

const wait = z
  .enum(["wave", "timer", "retry", "cut", "claim", "approval", "input", "signal", "child"])
  .nullable()
  .meta({ description: "What it waits for." });
const problem = error.nullable().meta({ description: "Why its writer last stepped back without writing." });

const task = z.object({
  taskId: z.string(),
  role: z.string().nullable(),
  status: z.enum(["ready", "running", "parked", "ended"]),
  outcome: z.enum(["completed", "failed", "cancelled"]).nullable(),
  wait,
  wakeAt: time.nullable(),
  problem,
  startedAt: time.nullable().meta({ description: "When it was first worked on; null: it wasn't." }),
  endedAt: time.nullable(),
  ...accounts,
});
export type TaskJson = z.infer<typeof task>;

const decided = z.object({ granted: z.boolean(), by: z.string(), comment: z.string(), at: time });
export const approval = z.object({
  call: z
    .string()
    .meta({ description: "The call's id, as the model gave it: several tasks' calls may have the same." }),
  key: z.string().meta({ description: "Of this request alone: what a decision should name." }),
  taskId: z.string(),
  tool: z.string(),
  args: json,
  reason: z.enum(["approval", "unknownOutcome"]).meta({
    description:
      "`unknownOutcome`: it began, and its worker died before it ended. To allow it is to run it again; to deny it leaves open what it did.",
  }),
  requestedAt: time,
  expiresAt: time.nullable().meta({ description: "It is denied by then; null: it waits for ever." }),
  decided: decided.nullable().meta({ description: "Null: it waits." }),
});
export type ApprovalJson = z.infer<typeof approval>;

export const turn = z.object({
  seq: count.meta({ description: "Of its event in the stream `task:w0t0`; 0: the session's input." }),
  by: z.enum(["user", "agent"]),
  text: z.string(),
  at: time,
});
export type TurnJson = z.infer<typeof turn>;

const awaited = z.object({
  signal: z.string(),
  since: time,
  dueAt: time.nullable().meta({ description: "When the wait is over without one; null: never." }),
});

export const cut = z.object({
  stream: z.string().meta({ description: "`run`, or `task:<taskId>`." }),
  reason: z.string().meta({ description: "What was edited." }),
  calls: z.array(z.string()).meta({ description: "What would be done again." }),
  price: z
    .object({
      modelCalls: count.meta({ description: "Answers on record that would be asked for anew." }),
      costUsd: usd,
      simulated: z.boolean(),
    })
    .meta({
      description:
        "What a rerun would pay anew. Of the stream `run` at most: plans that come later may take tasks over.",
    }),
  instead: z
    .object({
      stands: z.array(z.object({ task: z.string(), was: z.string(), now: z.string() })).meta({
        description: "Recorded tasks that answer for new ones under `keep`, the first of them: what both are about.",
      }),
      standing: count.meta({ description: "How many there are. None: `keep` isn't possible." }),
      fresh: z.array(z.string()).meta({ description: "What is new all the same, the first of it." }),
      anew: count,
    })
    .nullable()
    .meta({
      description:
        "Of the stream `run`: what the edited workflow plans. Null: of a task, where `keep` seals what is recorded.",
    }),
  requestedAt: time,
});
export type CutJson = z.infer<typeof cut>;

const tokens = z.int().nonnegative();
const budget = z.object({
  maxCostUsd: z.number().nullable().meta({ description: "US dollars; null: not capped." }),
  totalTokens: z.int().nullable().meta({ description: "Null: not capped." }),
  spentUsd: z.number().meta({ description: "With what may have been paid for calls that were never answered." }),
  spentTokens: tokens,
  reservedUsd: z.number().meta({ description: "Set aside for model calls under way, estimated high." }),
  reservedTokens: tokens,
});

export const run = runSummary.extend({
  input: json,
  output: json.nullable(),
  wait,
  problem,
  reason: z.string().nullable().meta({ description: "The first thing to look at, and what to do." }),
  approvals: z.array(approval).meta({ description: "Calls that wait for a person, and decided ones; oldest first." }),
  signals: z.array(awaited).meta({ description: "Signals that the workflow waits for, while nothing else goes on." }),
  cuts: z.array(cut).meta({ description: "Cuts that wait for a decision, since they would repeat an effect." }),
  turns: z
    .array(turn)
    .nullable()
    .meta({
      description: `Of a session what was said last, in order: at most ${TURNS_PAGE} turns. Those before are at \`/runs/{runId}/turns\`. Null: the run is no session.`,
    }),
  turnCount: count
    .nullable()
    .meta({ description: "How many turns the session has, its input among them. Null: the run is no session." }),
  waves: z.array(z.object({ wave: z.int(), tasks: z.array(task) })),
  ...family,
  budget: budget.nullable().meta({
    description:
      "What the run and everything below it may use; of a child that of the run at the top. Null: nothing is capped.",
  }),
  retries: count.meta({ description: "How often it had failed and was retried." }),
  forkedFrom: z.string().nullable().meta({ description: "The run whose log its own begins with; it may be gone." }),
  ...accounts,
});
export type RunJson = z.infer<typeof run>;

/** A run in a list: without its input and output, which may be large. */
export const summaryJson = (row: ListedRun): RunSummary => ({
  ...outlineJson(row),
  ...spentJson(row.spent),
});

type Outline = Omit<RunSummary, "modelCalls" | "tokens" | "costUsd" | "simulated">;
const outlineJson = (row: RunOutline): Outline => ({
  runId: row.runId,
  agent: row.agent,
  process: row.process,
  mode: row.mode,
  status: row.status,
  error: row.error,
  generation: row.generation,
  attributes: { ...row.attributes },
  parent: row.parent,
  createdAt: rfc3339(row.createdAt),
  endedAt: row.endedAt === null ? null : rfc3339(row.endedAt),
});

export const runJson = (view: RunView): RunJson => ({
  ...outlineJson(view.run),
  modelCalls: view.receipt.modelCalls,
  tokens: totalTokens(view.usage),
  input: view.run.input,
  output: view.run.output,
  wait: view.wait,
  problem: view.problem,
  reason: view.reason,
  usage: view.usage,
  costUsd: view.costUsd,
  simulated: view.simulated,
  receipt: view.receipt,
  approvals: view.approvals.map(approvalJson),
  signals: view.signals.map(({ signal, since, dueAt }) => ({
    signal,
    since: rfc3339(since),
    dueAt: dueAt === null ? null : rfc3339(dueAt),
  })),
  cuts: view.cuts.map(cutJson),
  turns: view.said?.turns.map(turnJson) ?? null,
  turnCount: view.said?.count ?? null,
  budget: budgetJson(view.run.budget),
  retries: view.run.retries,
  forkedFrom: view.run.forkedFrom,
  ...familyJson(view),
  waves: view.waves.map((wave) => ({ wave: wave.wave, tasks: wave.tasks.map(taskJson) })),
});

const budgetJson = (b: RunView["run"]["budget"]): RunJson["budget"] =>
  b && {
    maxCostUsd: b.maxCostUsd,
    totalTokens: b.totalTokens,
    spentUsd: usdOf(b.spent.nanoUsd),
    spentTokens: b.spent.tokens,
    reservedUsd: usdOf(b.reserved.nanoUsd),
    reservedTokens: b.reserved.tokens,
  };

const turnJson = ({ seq, by, text, at }: Turn): TurnJson => ({ seq, by, text, at: rfc3339(at) });

export const turnsPage = z.object({
  turns: z.array(turn).meta({ description: "In the order in which they were said." }),
  next: count
    .nullable()
    .meta({ description: "Pass it as `before` for the page before; null: this one begins with the session's input." }),
});
export type TurnsPageJson = z.infer<typeof turnsPage>;
export const turnsJson = ({ turns, next }: TurnsPage): TurnsPageJson => ({ turns: turns.map(turnJson), next });

export const approvalJson = (a: RunView["approvals"][number]): ApprovalJson => ({
  call: a.toolUseId,
  key: a.key,
  taskId: a.taskId,
  tool: a.tool,
  args: a.args,
  reason: a.reason,
  requestedAt: rfc3339(a.requestedAt),
  expiresAt: a.expiresAt === null ? null : rfc3339(a.expiresAt),
  decided: a.decided === null ? null : { ...a.decided, at: rfc3339(a.decided.at) },
});

export const cutJson = ({ stream, reason, calls, price, instead, requestedAt }: WaitingCut): CutJson => ({
  stream,
  reason,
  calls: [...calls],
  price: { modelCalls: price.modelCalls, costUsd: price.usd, simulated: price.simulated },
  instead: instead && {
    stands: [...instead.stands],
    standing: instead.standing,
    fresh: [...instead.fresh],
    anew: instead.anew,
  },
  requestedAt: rfc3339(requestedAt),
});

const taskJson = (t: TaskView): TaskJson => ({
  taskId: t.taskId,
  role: t.role,
  status: t.status,
  outcome: t.outcome,
  wait: t.wait,
  wakeAt: timeOrNull(t.wakeAt),
  startedAt: timeOrNull(t.startedAt),
  endedAt: timeOrNull(t.endedAt),
  problem: t.problem,
  usage: t.usage,
  costUsd: t.costUsd,
  simulated: t.simulated,
  receipt: t.receipt,
});
