// The kit's worker at work: a loop that takes what is due, dies when it is told to, and is taken over from; and its clock.
import { setTimeout as wait } from "node:timers/promises";
import { messageOf } from "../../shared/core/errors.ts";
import { guard } from "../../shared/engine/guard.ts";
import type { Agents } from "../../shared/ports/agents.ts";
import type { Database } from "../../shared/ports/database.ts";
import { createSleepers, passTime, putForward } from "./clock.ts";
import type { Scripts } from "./scripts.ts";
import { createWorker, orDead, type TestWorker } from "./worker.ts";

export interface Crew {
  readonly worker: TestWorker;
  /** Work that ended with a broken loop: a bug, or a database that is gone. */
  readonly failure: string | null;
  /** Nobody works on the run, no hint of it is due, and no clock of it has rung. Also how long until its next clock rings; null: it has none. */
  rest(runId: string): Promise<{ readonly rests: boolean; readonly dueInMs: number | null }>;
  advance(ms: number): Promise<void>;
  kill(): Promise<void>;
  close(): Promise<void>;
}

const IDLE_MS = 10;

type Alone = <T>(act: () => Promise<T>) => Promise<T>;

/** A look for work, and a step of the clock, come one after another. */
function createAlone(): Alone {
  let turn: Promise<unknown> = Promise.resolve();
  return (act) => {
    const mine = turn.then(act);
    turn = mine.catch(() => {});
    return mine;
  };
}

/** One worker's time at work, until it stops or dies. */
interface Shift {
  readonly worker: TestWorker;
  readonly over: Promise<void>;
  readonly failure: string | null;
  /** The guardian may have moved a clock whose hint isn't sent yet. */
  readonly guarding: boolean;
  /** Rises whenever there was something to do. */
  readonly moves: number;
}

function beginShift(worker: TestWorker, alone: Alone): Shift {
  let failure: string | null = null;
  let guarding = false;
  let moves = 0;
  const look = async (): Promise<boolean> => {
    let found = await worker.step();
    if (found === 0 && !worker.stopped) {
      guarding = true;
      found = (await guard(worker.deps).finally(() => (guarding = false))).nudged;
    }
    if (found > 0) moves++;
    return found > 0;
  };
  const work = async (): Promise<void> => {
    try {
      while (!worker.stopped) if (!(await alone(() => orDead(look(), worker.fate)))) await wait(IDLE_MS);
    } catch (thrown) {
      failure = messageOf(thrown);
    }
  };
  const over = work();
  return {
    worker,
    over,
    get failure() {
      return failure;
    },
    get guarding() {
      return guarding;
    },
    get moves() {
      return moves;
    },
  };
}

export function createCrew(options: { database: Database; agents: Agents; agent: string; scripts: Scripts }): Crew {
  const { database, agents, agent, scripts } = options;
  const sleepers = createSleepers();
  const alone = createAlone();
  let aheadMs = 0;
  const begin = (): Shift =>
    beginShift(createWorker({ database, agents, models: scripts.models, sleep: sleepers.sleep }), alone);
  let shift = begin();

  /** What the worker had sent still lands; what it waits for, a model or tool that hangs, is nobody's any more. */
  const end = async ({ worker: { fate }, over }: Shift): Promise<void> => {
    fate.dead = true;
    fate.onDeath();
    await over;
    sleepers.wakeAll();
    await Promise.allSettled(fate.underWay);
  };
  return {
    get worker() {
      return shift.worker;
    },
    get failure() {
      return shift.failure;
    },
    rest: async (runId) => {
      const own = shift;
      const before = own.moves;
      let family: readonly string[] = [runId];
      const quiet = (): boolean =>
        own === shift && !own.guarding && family.every((id) => own.worker.inFlight(id) === 0);
      if (!quiet()) return { rests: false, dueInMs: null };
      const { rows } = await database.pool.query<{ rests: boolean; due_in_ms: number | null; family: string[] }>(
        restQuery(agent),
        [runId],
      );
      family = rows[0]?.family ?? family;
      const rests = rows[0]?.rests === true && quiet() && own.moves === before;
      return { rests, dueInMs: rows[0]?.due_in_ms ?? null };
    },
    advance: (ms) =>
      alone(async () => {
        await putForward(database, agent, aheadMs + ms, ms);
        aheadMs += ms;
        sleepers.advance(ms);
      }),
    kill: async () => {
      await end(shift);
      scripts.workerDied();
      await passTime(database, agent);
      shift = begin();
    },
    close: async () => {
      shift.worker.stop();
      await shift.over;
      await end(shift);
    },
  };
}

/** Of the run and what stands below it: a run that waits for a child goes on by itself as long as the child does. */
const restQuery = (agent: string): string => `
  WITH RECURSIVE family AS (
    SELECT $1::uuid AS run_id UNION ALL SELECT c.run_id FROM family f JOIN agent_${agent}.runs c ON c.parent = f.run_id
  )
  SELECT (SELECT array_agg(run_id::text) FROM family) AS family,
     NOT EXISTS (SELECT FROM agent_${agent}.streams WHERE run_id IN (SELECT run_id FROM family)
                     AND (status IN ('ready', 'running') OR status = 'parked' AND wake_at <= clock_timestamp()))
     AND NOT EXISTS (SELECT FROM toren_control.queue_messages WHERE body->>'runId' IN (SELECT run_id::text FROM family) AND dead_at IS NULL
                     AND (receipt IS NOT NULL OR visible_at <= clock_timestamp())) AS rests,
     (SELECT (extract(epoch FROM min(wake_at) - clock_timestamp()) * 1000)::float8 FROM agent_${agent}.streams
      WHERE run_id IN (SELECT run_id FROM family) AND status = 'parked') AS due_in_ms`;
