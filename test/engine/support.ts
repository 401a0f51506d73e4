// What the engine's tests share: one agent, a database, and stacks over it that run a run on.

import { expect } from "@jest/globals";
import type { ScriptedModel } from "../../shared/adapters/model/script.ts";
import type { PostgresQueue } from "../../shared/adapters/queue/postgres.ts";
import { migrate } from "../../shared/adapters/store/migrate.ts";
import type { ModelRequest } from "../../shared/core/messages.ts";
import type { ProcessDefinition, RoleDefinition } from "../../shared/ports/agents.ts";
import type { Database } from "../../shared/ports/database.ts";
import type { RunRow } from "../../shared/ports/store.ts";
import { agent, serving } from "../support/agents.ts";
import { testDatabase } from "../support/database.ts";
import { checkLog, dumpDatabase } from "../support/log-checker.ts";
import { createStack, emptied, type Stack, type StackOptions } from "../support/stack.ts";

export const AGENT = "crew";

export interface EngineTest {
  readonly database: Database;
  /** A stack of its own, as another worker would be. */
  stack(
    roles: readonly RoleDefinition[],
    main: ProcessDefinition,
    more: { model: ScriptedModel } & Partial<Omit<StackOptions, "model">> & {
        generation?: number;
        /** Beside `main`. */
        processes?: Readonly<Record<string, ProcessDefinition>>;
      },
  ): Stack;
  /** Starts a run and drives it until it ends or nothing moves. */
  run(
    roles: readonly RoleDefinition[],
    main: ProcessDefinition,
    model: ScriptedModel,
  ): Promise<{ row: RunRow | null; runId: string; stack: Stack }>;
  /** Types of a stream's raw events. */
  events(runId: string, streamId: string): Promise<string[]>;
  payloads(runId: string, type: string): Promise<Record<string, unknown>[]>;
  sql<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  /** Does something while another session holds the rows of a query that locks. */
  whileLocked<T>(query: string, act: () => Promise<T>): Promise<T>;
  /** Between tests: stops every stack, and forgets every run. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** After each test: forgets every run, of none of which the log may be wrong. */
export async function resetChecked(t: EngineTest): Promise<void> {
  const wrong = checkLog(await dumpDatabase(t.database.pool, AGENT));
  await t.reset();
  expect(wrong).toEqual([]);
}

export async function engineTest(): Promise<EngineTest> {
  const db = await testDatabase();
  await migrate(db.database, [AGENT]);
  const sql = async <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
    (await db.database.pool.query(text, values)).rows as R[];
  const stacks: Stack[] = [];
  const stack: EngineTest["stack"] = (roles, main, { generation = 1, processes = {}, ...more }) => {
    const made = createStack({
      database: db.database,
      agents: serving(agent(AGENT, roles, main, processes), generation),
      ...more,
    });
    stacks.push(made);
    return made;
  };
  return {
    database: db.database,
    stack,
    run: async (roles, main, model) => {
      const own = stack(roles, main, { model });
      const runId = await own.start(AGENT, "x");
      const row = await own.drive({ agent: AGENT, runId });
      own.stop();
      return { row, runId, stack: own };
    },
    events: async (runId, streamId) =>
      (
        await sql<{ type: string }>(
          `SELECT type FROM agent_${AGENT}.events WHERE run_id = $1 AND stream_id = $2 ORDER BY seq`,
          [runId, streamId],
        )
      ).map((e) => e.type),
    payloads: async (runId, type) =>
      (
        await sql<{ payload: Record<string, unknown> }>(
          `SELECT payload FROM agent_${AGENT}.events WHERE run_id = $1 AND type = $2 ORDER BY stream_id, seq`,
          [runId, type],
        )
      ).map((e) => e.payload),
    sql,
    whileLocked: async (query, act) => {
      const client = await db.database.pool.connect();
      try {
        await client.query("BEGIN");
        await client.query(query);
        return await act();
      } finally {
        await client.query("ROLLBACK");
        client.release();
      }
    },
    reset: async () => {
      for (const made of stacks.splice(0)) {
        made.stop();
        await (made.deps.queue as PostgresQueue).close(); // a pump had it listen
      }
      await emptied(db.database, AGENT);
    },
    close: () => db.drop(),
  };
}

/** The text of a question's first message. */
export function firstText(request: ModelRequest): string {
  const part = request.messages[0]?.content[0];
  return part?.type === "text" ? part.text : "";
}

export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  for (const end = Date.now() + timeoutMs; !(await holds()); ) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${holds}`);
    await new Promise((r) => setTimeout(r, 5));
  }
}
