// The matrix's rows: one run, disturbed right after write n (and a second time at write m of its recovery), recovered, and its books checked.
import type { Database } from "../../shared/ports/database.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { serving } from "../support/agents.ts";
import { type Fate, fate } from "../support/mortal.ts";
import { createStack, emptied, passTime, type Stack } from "../support/stack.ts";
import { AGENT, type Scenario, type World, worldOf } from "./scenarios.ts";

export interface Disturbed {
  readonly row: RunRow | null;
  readonly runId: string;
  readonly world: World;
  /** Writes of the first stack. */
  readonly writes: number;
  readonly died: boolean;
}

const stackOf = (database: Database, scenario: Scenario, world: World, disturbance: Fate): Stack =>
  createStack({ database, agents: serving(scenario.agent(world)), model: world.model, fate: disturbance });

/** `at` counts from the first write after the run was created: a run that nobody was told of is no run. */
export async function disturb(
  database: Database,
  scenario: Scenario,
  disturbances: readonly Fate[],
): Promise<Disturbed> {
  await emptied(database, AGENT);
  const world = worldOf(scenario);
  const starter = stackOf(database, scenario, world, fate());
  const runId = await starter.start(AGENT, scenario.input);
  starter.stop();
  let row: RunRow | null = null;
  let writes = 0;
  let died = false;
  for (const [i, disturbance] of [...disturbances, fate()].entries()) {
    const stack = stackOf(database, scenario, world, disturbance);
    row = await stack.drive({ agent: AGENT, runId });
    stack.stop();
    if (i === 0) writes = disturbance.writes;
    died ||= disturbance.dead;
    await Promise.allSettled(disturbance.underWay);
    if (row?.endedAt != null) break;
    await passTime(database, AGENT);
  }
  return { row, runId, world, writes, died };
}

/** Same output, balanced books, a log without a flaw. Throws what is wrong. */
export async function expectWhole(
  database: Database,
  scenario: Scenario,
  { row, runId, world }: Disturbed,
): Promise<void> {
  const problems: string[] = [];
  if (row?.status !== scenario.status) problems.push(`status ${row?.status}: ${JSON.stringify(row?.error)}`);
  if (JSON.stringify(row?.output) !== JSON.stringify(scenario.output))
    problems.push(`output ${JSON.stringify(row?.output)}`);
  if (world.effects.byKey.size !== scenario.keyedEffects)
    problems.push(`keyed effects: ${[...world.effects.byKey.values()].join(", ")}`);
  const { rows } = await database.pool.query<{ started: number; completed: number; repaid: number }>(BOOKS, [runId]);
  const books = rows[0];
  const asked = world.model.ledger.length;
  if (books === undefined || books.repaid > 0) problems.push(`${books?.repaid} recorded answers paid twice`);
  if (books !== undefined && (asked > books.started || asked < books.completed))
    problems.push(`the model was asked ${asked} times, the log says ${JSON.stringify(books)}`);
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Paid twice: an answer recorded for a step and question that already had one in the same stream. */
const BOOKS = `
  SELECT count(*) FILTER (WHERE type = 'LlmCallStarted')::int AS started, count(*) FILTER (WHERE type = 'LlmCallCompleted')::int AS completed,
    (count(*) FILTER (WHERE type = 'LlmCallCompleted') - count(DISTINCT (stream_id, payload->>'stepId')) FILTER (WHERE type = 'LlmCallCompleted'))::int AS repaid
  FROM agent_${AGENT}.events WHERE run_id = $1`;
