// How a statement of shared/sql reaches the database: its text for one agent's schema, its name where it is prepared, and what a failure means.
import pg, { type Pool } from "pg";
import { messageOf, TorenError } from "../../core/errors.ts";
import { COMMIT_BACKOFF_MS, COMMIT_TRIES } from "../../core/limits.ts";
import type { Sealer } from "../../ports/sealer.ts";
import { QUERIES, type Verb } from "../../sql/queries.ts";
import { CONTENTION, codeOf, isAway } from "../database/failures.ts";
import { createSeals, type Seals } from "./seals.ts";

const AGENT_NAME = /^[a-z][a-z0-9_]{0,40}$/;

/** @throws TorenError `agent.unknown` for text that can't name an agent, so that nothing else ever gets into a statement. */
export function schemaOf(agent: string): string {
  if (!AGENT_NAME.test(agent))
    throw new TorenError(
      "agent.unknown",
      `"${agent.slice(0, 50)}" can't be an agent's name: a-z first, then a-z, 0-9 and _, 41 at most.`,
    );
  return `agent_${agent}`;
}

/** SQL for one agent. `::` casts stay as they are. */
export const inSchema = (sql: string, schema: string): string => sql.replaceAll(/(?<!:):agent\b/g, schema);

const texts = new Map<string, string>();
function textOf(verb: Verb, agent: string | null): string {
  const key = `${verb}:${agent}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const text = agent === null ? QUERIES[verb] : inSchema(QUERIES[verb], schemaOf(agent));
  texts.set(key, text);
  return text;
}

const INT8 = 20;
/** bigint columns hold counts and sequence numbers: all far below 2^53. */
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
};

/** One try. `prepared`: parsed and planned once a connection; only for pools whose planner settings make a cached plan safe. */
export async function send<R>(
  pool: Pool,
  verb: Verb,
  agent: string | null,
  values: unknown[],
  prepared: boolean,
): Promise<R[]> {
  const text = textOf(verb, agent);
  const result = await pool.query({ text, values, types, ...(prepared ? { name: `${verb}:${agent}` } : {}) });
  return result.rows as R[];
}

export type FailureKind =
  /** The connection is gone or refused; whether the statement took effect isn't known. */
  | "lost"
  /** Rolled back by contention: the same again may pass. */
  | "contention"
  /** An item's own fault, or too much at once: alone the others pass. */
  | "item"
  | "other";

export function kindOf(thrown: unknown): FailureKind {
  if (isAway(thrown)) return "lost";
  const code = codeOf(thrown) ?? "";
  if (CONTENTION.has(code)) return "contention";
  if (code.startsWith("08") || code.startsWith("57")) return "lost";
  if (code.startsWith("22") || code.startsWith("23") || code.startsWith("53") || code.startsWith("54")) return "item";
  return "other";
}

/** What the engine is told. */
export function explained(thrown: unknown): TorenError {
  if (thrown instanceof TorenError) return thrown;
  const code = codeOf(thrown) ?? "";
  const kind = kindOf(thrown);
  if (kind === "lost" || kind === "contention" || code.startsWith("53"))
    return new TorenError("database.unavailable", `The database didn't answer: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  if (code === "42P01" || code === "3F000" || code === "42703")
    return new TorenError(
      "schema.older",
      `The database lacks what this version needs (${messageOf(thrown)}): run \`toren migrate\`.`,
      { cause: thrown },
    );
  return new TorenError("bug", `The database refused a statement (${code}): ${messageOf(thrown)}`, { cause: thrown });
}

/** Waits before the try after `tries` failed ones; spread, so that those who met once don't meet again. */
export const pause = (tries: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, COMMIT_BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random())));

/**
 * A statement that may be repeated as it is: a read, or a write whose repetition changes nothing. `doubtful` in the answer: an earlier try may have landed.
 * @throws the driver's own error, for the caller to judge; see `explained`.
 */
export async function repeatable<R>(
  pool: Pool,
  verb: Verb,
  agent: string | null,
  values: unknown[],
  prepared: boolean,
): Promise<{ rows: R[]; doubtful: boolean }> {
  let doubtful = false;
  for (let tries = 1; ; tries++) {
    try {
      return { rows: await send<R>(pool, verb, agent, values, prepared), doubtful };
    } catch (e) {
      const kind = kindOf(e);
      if (tries >= COMMIT_TRIES || (kind !== "lost" && kind !== "contention"))
        throw doubtful && e instanceof Error ? Object.assign(e, { doubtful }) : e;
      doubtful ||= kind === "lost";
      await pause(tries);
    }
  }
}

/** Of an error from `repeatable`: an earlier try may have landed. */
export const wasDoubtful = (thrown: unknown): boolean => thrown instanceof Error && "doubtful" in thrown;

/** `agent` null: the control schema alone. */
export interface Statements {
  /** Reads and rare writes: any of the pool's connections, planned for its values each time. */
  ask<R>(verb: Verb, agent: string | null, values: unknown[]): Promise<R[]>;
  /** Short writes by key: prepared, on the connections of appends. */
  change<R>(verb: Verb, agent: string | null, values: unknown[]): Promise<R[]>;
  /** With which keys what they bring is sealed. */
  readonly seals: Seals;
}

interface Pools {
  readonly appends: Pool;
  readonly pool: Pool;
  readonly sealer?: Sealer;
}

export const createStatements = (pools: Pools): Statements => {
  const asked = async <R>(
    pool: Pool,
    verb: Verb,
    agent: string | null,
    values: unknown[],
    prepared: boolean,
  ): Promise<R[]> => {
    try {
      return (await repeatable<R>(pool, verb, agent, values, prepared)).rows;
    } catch (e) {
      throw explained(e);
    }
  };
  const ask: Statements["ask"] = (verb, agent, values) => asked(pools.pool, verb, agent, values, false);
  return {
    ask,
    change: (verb, agent, values) => asked(pools.appends, verb, agent, values, true),
    seals: createSeals(ask, pools.sealer),
  };
};
