// The matrix's rows: one run, disturbed right after write n (and a second time at write m of its recovery), recovered, and its books checked.
import { setTimeout as wait } from "node:timers/promises";
import { type Fate, fate } from "../../local/testing/mortal.ts";
import { orDead } from "../../local/testing/worker.ts";
import { totalTokens } from "../../shared/core/messages.ts";
import type { Budget } from "../../shared/core/task/ledger.ts";
import { cancelRun, resumeRun } from "../../shared/engine/cancel-run.ts";
import type { AgentDefinition } from "../../shared/ports/agents.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { serving } from "../support/agents.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import { createStack, emptied, passTime, type Stack } from "../support/stack.ts";
import { hurried } from "./hurry.ts";
import { AGENT, type Scenario, type World, worldOf } from "./world.ts";

export interface Disturbed {
  readonly row: RunRow | null;
  readonly runId: string;
  readonly world: World;
}

const stackOf = (database: Database, agent: AgentDefinition, generation: number, world: World, hand: Fate): Stack =>
  createStack({ database, agents: serving(agent, generation), model: world.model, fate: hand });

/**
 * `at` counts from the first write after the run was created (after the edit, if there is one): a run that nobody was told of is no run. `cancelAt`: the
 * write of the first stack after which somebody cancels; when it dies before, that comes first thing after its death.
 */
export async function disturb(
  database: Database,
  scenario: Scenario,
  disturbances: readonly Fate[],
  cancelAt: number | null = null,
): Promise<Disturbed> {
  await emptied(database, AGENT); // what a failed row left behind would be worked on by the next one
  const world = worldOf(scenario);
  const { runId, helper } = await prepared(database, scenario, world);
  const cancel = once(() => cancelRun(helper.deps, { agent: AGENT, runId, reason: "changed my mind" }));
  let stack = helper;
  const hurry = hurried(database, AGENT, () => stack.deps.keeper.beat());
  let row: RunRow | null = null;
  try {
    for (const [i, hand] of [...disturbances, fate()].entries()) {
      if (i === 0 && cancelAt !== null) afterWrite(hand, cancelAt, cancel);
      stack = stackOf(database, scenario.agent(world), generationOf(scenario), world, hand);
      row = await drivenOn(stack, scenario, helper, runId, world);
      stack.stop();
      await Promise.allSettled(hand.underWay);
      if (cancelAt !== null) await cancel();
      if (row?.endedAt != null && !(scenario.retried && row.status === "failed")) break;
      await passTime(database, AGENT);
    }
  } finally {
    await hurry.stop();
    helper.stop();
  }
  return { row, runId, world };
}

/** Until it ends, dies, or waits for nobody that the scenario knows. */
async function drivenOn(
  stack: Stack,
  scenario: Scenario,
  helper: Stack,
  runId: string,
  world: World,
): Promise<RunRow | null> {
  for (let visits = 0; ; visits++) {
    const row = await stack.drive({ agent: AGENT, runId });
    const failed = scenario.retried === true && row?.status === "failed";
    const waits = row !== null && (failed || WAITS_FOR_PEOPLE.has(row.status));
    if (!waits || scenario.people === undefined || visits >= VISITS_MAX) return row;
    if (!failed) await scenario.people(helper.deps, runId, world);
    else if (
      (await orDead(
        scenario.people(stack.deps, runId, world).then(() => true),
        stack.fate,
      )) === null
    )
      return null;
  }
}
const VISITS_MAX = 10;
const WAITS_FOR_PEOPLE: ReadonlySet<string> = new Set([
  "waitingApproval",
  "awaitingInput",
  "waitingCut",
  "waitingSignal",
]);

const generationOf = (scenario: Scenario): number => (scenario.before === undefined ? 1 : 2);

/** The run as the first disturbed stack finds it. `helper` is a stack that nothing happens to, and that does no work. */
async function prepared(
  database: Database,
  scenario: Scenario,
  world: World,
): Promise<{ runId: string; helper: Stack }> {
  const { before } = scenario;
  const helper = stackOf(database, scenario.agent(world), generationOf(scenario), world, fate());
  if (before === undefined) return { runId: await helper.start(AGENT, scenario.input, scenario.budget), helper };
  const hand = fate();
  const first = stackOf(database, before.agent(world), 1, world, hand);
  const runId = await first.start(AGENT, scenario.input);
  const driven = first.drive({ agent: AGENT, runId });
  for (const end = Date.now() + 10_000; !before.until(world); await wait(2))
    if (Date.now() > end) throw new Error(`the code before the edit didn't come to its point in run ${runId}`);
  hand.dead = true;
  hand.onDeath();
  await driven;
  await Promise.allSettled(hand.underWay);
  world.edited = true;
  await passTime(database, AGENT);
  await resumeRun(helper.deps, { agent: AGENT, runId });
  return { runId, helper };
}

function once(act: () => Promise<unknown>): () => Promise<unknown> {
  let done: Promise<unknown> | null = null;
  return () => {
    done ??= act();
    return done;
  };
}

/** The fate's own count calls back. */
function afterWrite(hand: Fate, at: number, act: () => Promise<unknown>): void {
  let writes = 0;
  Object.defineProperty(hand, "writes", {
    get: () => writes,
    set: (n: number) => {
      writes = n;
      if (n === at) void act();
    },
  });
}

/** Same output, balanced books, a log without a flaw. Throws what is wrong. */
export async function expectWhole(database: Database, scenario: Scenario, disturbed: Disturbed): Promise<void> {
  const { world } = disturbed;
  const problems = [...endProblems(scenario, disturbed), ...askedAgain(scenario, world)];
  const { rows } = await database.pool.query<{ started: number; completed: number; repaid: number }>(BOOKS);
  const books = rows[0];
  const asked = world.ledger.length;
  if (books === undefined || books.repaid > 0) problems.push(`${books?.repaid} recorded answers paid twice`);
  if (books !== undefined && (asked > books.started || asked < books.completed))
    problems.push(`the model was asked ${asked} times, the log says ${JSON.stringify(books)}`);
  problems.push(...checkLog(await dumpDatabase(database.pool, AGENT), scenario.sealed ? undefined : world.books()));
  if (scenario.budget !== undefined) problems.push(...(await overspent(database, scenario.budget, disturbed)));
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Nothing is left reserved, the cap is not passed, and what the provider billed isn't more than what counts as spent. */
async function overspent(database: Database, budget: Budget, { runId, world }: Disturbed): Promise<string[]> {
  const { rows } = await database.pool.query<{ reserved: number; spent: number }>(
    `SELECT reserved_tokens::int AS reserved, spent_tokens::int AS spent FROM agent_${AGENT}.budgets WHERE run_id = $1`,
    [runId],
  );
  const billed = world.ledger.reduce((sum, { request }) => sum + totalTokens(world.usageOf(request)), 0);
  const [row = { reserved: -1, spent: -1 }] = rows;
  return row.reserved === 0 && row.spent <= (budget.totalTokens ?? Infinity) && billed <= row.spent
    ? []
    : [`the budget is ${JSON.stringify(row)}, billed were ${billed}`];
}

function endProblems(scenario: Scenario, { row, world }: Disturbed): string[] {
  const effects = world.byKey.size;
  if (scenario.cancelled && row?.status === "cancelled") {
    const problems = row.error?.code === "run.cancelled" ? [] : [`cancelled: ${JSON.stringify(row.error)}`];
    return effects > scenario.keyedEffects ? [...problems, `${effects} keyed effects`] : problems;
  }
  const problems: string[] = [];
  if (row?.status !== scenario.status) problems.push(`status ${row?.status}: ${JSON.stringify(row?.error)}`);
  if (JSON.stringify(row?.output) !== JSON.stringify(scenario.output))
    problems.push(`output ${JSON.stringify(row?.output)}`);
  if (effects !== scenario.keyedEffects) problems.push(`keyed effects: ${[...world.byKey.values()].join(", ")}`);
  return problems;
}

function askedAgain(scenario: Scenario, { ledger }: World): string[] {
  const asked = new Map<string, number>();
  for (const { request } of ledger) {
    if (scenario.settled?.(request) !== true) continue;
    const question = JSON.stringify([request.system, request.messages]);
    asked.set(question, (asked.get(question) ?? 0) + 1);
  }
  return [...asked].flatMap(([question, n]) => (n === 1 ? [] : [`asked ${n} times: ${question}`]));
}

/** Paid twice: an answer recorded for a step and question that already had one in the same stream. Over the run and its children: nothing else is there. */
const BOOKS = `
  WITH calls AS (
    SELECT type, run_id, stream_id, payload->>'stepId' AS step,
      (SELECT s.payload->>'requestDigest' FROM agent_${AGENT}.events s WHERE s.run_id = e.run_id AND s.stream_id = e.stream_id
        AND s.type = 'LlmCallStarted' AND s.seq < e.seq ORDER BY s.seq DESC LIMIT 1) AS question
    FROM agent_${AGENT}.events e WHERE type IN ('LlmCallStarted', 'LlmCallCompleted'))
  SELECT count(*) FILTER (WHERE type = 'LlmCallStarted')::int AS started, count(*) FILTER (WHERE type = 'LlmCallCompleted')::int AS completed,
    (count(*) FILTER (WHERE type = 'LlmCallCompleted')
      - count(DISTINCT (run_id, stream_id, step, question)) FILTER (WHERE type = 'LlmCallCompleted'))::int AS repaid
  FROM calls`;
