// The kit's worker at work: a loop that takes what is due, dies when it is told to, and is taken over from; and its clock.
import { setTimeout as wait } from "node:timers/promises";
import { messageOf } from "../../shared/core/errors.ts";
import { guard } from "../../shared/engine/guard.ts";
import type { Agents } from "../../shared/ports/agents.ts";
import type { Database } from "../../shared/ports/database.ts";
import { createSleepers, passTime, putForward } from "./clock.ts";
import { fate } from "./mortal.ts";
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

export function createCrew(options: { database: Database; agents: Agents; agent: string; scripts: Scripts }): Crew {
  const { database, agents, agent, scripts } = options;
  const sleepers = createSleepers();
  let failure: string | null = null;
  let aheadMs = 0;
  let guarding = false;
  let moves = 0;
  let turn: Promise<unknown> = Promise.resolve();
  /** A look for work, a step of the clock and a death come one after another. */
  const alone = <T>(act: () => Promise<T>): Promise<T> => {
    const mine = turn.then(act);
    turn = mine.catch(() => {});
    return mine;
  };

  const hire = (): TestWorker =>
    createWorker({ database, agents, models: scripts.models, fate: fate(), sleep: sleepers.sleep });
  const look = async (worker: TestWorker): Promise<boolean> => {
    const received = await worker.step();
    if (received > 0) moves++;
    if (received > 0 || worker.stopped) return true;
    guarding = true;
    try {
      const { nudged } = await guard(worker.deps);
      if (nudged > 0) moves++;
      return nudged > 0;
    } finally {
      guarding = false;
    }
  };
  const workOn = async (worker: TestWorker): Promise<void> => {
    try {
      while (!worker.stopped) if (!(await alone(() => orDead(look(worker), worker.fate)))) await wait(IDLE_MS);
    } catch (thrown) {
      failure = messageOf(thrown);
    }
  };
  let worker = hire();
  let working = workOn(worker);

  return {
    get worker() {
      return worker;
    },
    get failure() {
      return failure;
    },
    rest: async (runId) => {
      const before = moves;
      const busy = (): boolean => guarding || worker.inFlight(runId) > 0;
      if (busy()) return { rests: false, dueInMs: null };
      const { rows } = await database.pool.query<{ rests: boolean; due_in_ms: number | null }>(restQuery(agent), [
        runId,
      ]);
      const row = rows[0];
      return { rests: row?.rests === true && !busy() && moves === before, dueInMs: row?.due_in_ms ?? null };
    },
    advance: (ms) =>
      alone(async () => {
        await putForward(database, agent, aheadMs + ms, ms);
        aheadMs += ms;
        sleepers.advance(ms);
      }),
    kill: async () => {
      const { fate: hand } = worker;
      hand.dead = true;
      hand.onDeath();
      await working;
      sleepers.wakeAll();
      await Promise.allSettled(hand.underWay); // what it had sent still lands
      guarding = false;
      scripts.workerDied();
      await passTime(database, agent);
      worker = hire();
      working = workOn(worker);
    },
    close: async () => {
      worker.stop();
      await working;
      const { fate: hand } = worker;
      hand.dead = true; // a model or tool that hangs is left alone
      sleepers.wakeAll();
      await Promise.allSettled(hand.underWay);
    },
  };
}

const restQuery = (agent: string): string => `
  SELECT NOT EXISTS (SELECT FROM agent_${agent}.streams WHERE run_id = $1::uuid
                     AND (status IN ('ready', 'running') OR status = 'parked' AND wake_at <= clock_timestamp()))
     AND NOT EXISTS (SELECT FROM toren_control.queue_messages WHERE body->>'runId' = $1::text AND dead_at IS NULL AND visible_at <= clock_timestamp()) AS rests,
     (SELECT (extract(epoch FROM min(wake_at) - clock_timestamp()) * 1000)::float8 FROM agent_${agent}.streams
      WHERE run_id = $1::uuid AND status = 'parked') AS due_in_ms`;
