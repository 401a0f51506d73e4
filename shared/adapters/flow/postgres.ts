// Gates in Postgres: rows that workers lock for a millisecond. All that decides stands in shared/sql/queries/pass-gates.sql. Twin: the simulation's, in test/sim.
import {
  FLOW_CALL_MS,
  FLOW_CALLED_AT_ONCE_MAX,
  FLOW_CALLS_MAX,
  FLOW_FORGET_GATES,
  FLOW_FORGET_MS,
  FLOW_PASSES_MAX,
  FLOW_RETRY_MAX_MS,
  FLOW_RETRY_MS,
  FLOW_RETRY_PER_AHEAD_MS,
  FLOW_RETRY_WAITED_PERCENT,
  FLOW_SETTLE_MS,
  FLOW_SPREAD_MS,
  FLOW_STATEMENTS,
  FLOW_UNHEARD_MS,
} from "../../core/limits.ts";
import type { Database } from "../../ports/database.ts";
import type { Call, Flow } from "../../ports/flow.ts";
import type { StreamRef } from "../../ports/store.ts";
import { createStatements } from "./statements.ts";

interface CalledRow {
  readonly agent: string;
  readonly runId: string;
  readonly streamId: string;
  readonly at: number;
}

interface PassedRow {
  readonly enters: boolean;
  readonly blocked: string | null;
  readonly retry_at: number | null;
  readonly now: number;
  /** There is room, and more wait than the statement saw. */
  readonly again: boolean;
  readonly called: readonly CalledRow[];
}

interface Pass {
  readonly keys: readonly string[];
  readonly places: readonly (number | null)[];
  readonly perMinute: readonly (number | null)[];
  readonly tokens: readonly (number | null)[];
  readonly stream: StreamRef;
  readonly leaves: boolean;
  readonly leaseMs: number;
}

/** What the statement goes by, in the order of its parameters. */
const LIMITS = [
  FLOW_CALL_MS,
  FLOW_CALLS_MAX,
  FLOW_CALLED_AT_ONCE_MAX,
  FLOW_RETRY_MS,
  FLOW_RETRY_MAX_MS,
  FLOW_RETRY_PER_AHEAD_MS,
  FLOW_RETRY_WAITED_PERCENT,
  FLOW_UNHEARD_MS,
  FLOW_SPREAD_MS,
  FLOW_FORGET_MS,
  FLOW_FORGET_GATES,
  FLOW_SETTLE_MS,
];

/** A stream that is at no gate: who leaves them in its name only has those called who may come in. */
const NOBODY: StreamRef = { agent: "", runId: "00000000-0000-0000-0000-000000000000", streamId: "" };

/** `random` in [0, 1): jitter. Holds no connection and no timer while nothing is asked of it. */
export function createPostgresFlow(database: Pick<Database, "appends">, random: () => number = Math.random): Flow {
  const statements = createStatements(database.appends, FLOW_STATEMENTS);
  const passOnce = async (pass: Pass): Promise<PassedRow> => {
    const { stream } = pass;
    const { rows } = await statements.ask<PassedRow>("pass-gates", (again) => [
      pass.keys,
      pass.places,
      pass.perMinute,
      pass.tokens,
      stream.agent,
      stream.runId,
      stream.streamId,
      pass.leaves,
      pass.leaseMs,
      random(),
      again,
      ...LIMITS,
    ]);
    const [row] = rows;
    if (row === undefined) throw new Error("pass-gates answers with one row");
    return row;
  };
  const pass = async (first: Pass): Promise<PassedRow & { readonly calls: readonly Call[] }> => {
    const passed = await passOnce(first);
    const calls = callsOf(passed);
    for (let n = 1, last = passed; last.again && n < FLOW_PASSES_MAX; n++) {
      last = await passOnce({ ...leaving(NOBODY, first.keys, {}), leaseMs: 0 });
      calls.push(...callsOf(last));
    }
    return { ...passed, calls };
  };
  return {
    enter: async (stream, gates, leaseMs) => {
      if (gates.length === 0) return { type: "entered", called: [] };
      const passed = await pass({
        keys: gates.map((g) => g.key),
        places: gates.map((g) => g.max),
        perMinute: gates.map((g) => g.rate?.perMinute ?? null),
        tokens: gates.map((g) => g.rate?.tokens ?? 0),
        stream,
        leaves: false,
        leaseMs,
      });
      const { calls: called, now, blocked: key, retry_at: retryAt } = passed;
      if (passed.enters) return { type: "entered", called };
      if (key === null || retryAt === null) throw new Error("pass-gates says which gate is in the way");
      return { type: "wait", key, retryAt, now, called };
    },
    leave: async (stream, keys, tokens = {}) =>
      keys.length === 0 ? [] : (await pass({ ...leaving(stream, keys, tokens), leaseMs: 0 })).calls,
    renew: async (streams, leaseMs) => {
      if (streams.length === 0) return;
      const values = [streams.map((s) => s.runId), streams.map((s) => s.streamId), leaseMs];
      await statements.ask("renew-places", () => values);
    },
    coolDown: async (key, ms) => {
      await statements.ask("cool-down", () => [key, ms]);
    },
    coolDowns: async () => {
      const { rows } = await statements.ask<{ key: string | null; until: number; now: number }>(
        "list-cool-downs",
        () => [],
      );
      const until = new Map(rows.flatMap((row) => (row.key === null ? [] : [[row.key, row.until] as const])));
      return { now: rows[0]?.now ?? 0, until };
    },
  };
}

const leaving = (
  stream: StreamRef,
  keys: readonly string[],
  used: Readonly<Record<string, number>>,
): Omit<Pass, "leaseMs"> => ({
  keys,
  places: keys.map(() => null),
  perMinute: keys.map(() => null),
  tokens: keys.map((key) => used[key] ?? null),
  stream,
  leaves: true,
});

const callsOf = ({ called, now }: PassedRow): Call[] =>
  called.map(({ agent, runId, streamId, at }) => ({ stream: { agent, runId, streamId }, at, now }));
