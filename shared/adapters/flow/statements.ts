// How a statement about gates reaches the database: few at a time, repeated where that changes nothing.
import type { Pool, QueryResult, QueryResultRow } from "pg";
import { COMMIT_BACKOFF_MS, COMMIT_TRIES } from "../../core/limits.ts";
import { QUERIES, type Verb } from "../../sql/queries.ts";
import { asUnavailable, codeOf, isConnectionLost } from "../database/failures.ts";

export interface Statements {
  /**
   * `values` is asked before each try; `again`: an earlier one may have landed. All of these statements may be repeated as they are.
   * @throws TorenError `database.unavailable`
   */
  ask<R extends QueryResultRow>(verb: Verb, values: (again: boolean) => unknown[]): Promise<QueryResult<R>>;
}

/** 23505: a twin, or a gate that two made at once; the others are contention. Nothing was done, and the same again may pass. */
const REPEATABLE = new Set(["23505", "40P01", "40001", "55P03"]);

export function createStatements(pool: Pool, atOnce: number): Statements {
  const slot = createSlots(atOnce);
  return {
    ask: (verb, values) =>
      slot(async () => {
        let again = false;
        for (let tries = 1; ; tries++) {
          try {
            return await pool.query({ name: verb, text: QUERIES[verb], values: values(again) });
          } catch (e) {
            const lost = isConnectionLost(e);
            if (tries >= COMMIT_TRIES || !(lost || REPEATABLE.has(codeOf(e) ?? ""))) throw asUnavailable(e);
            again ||= lost;
            await pause(tries);
          }
        }
      }),
  };
}

const pause = (tries: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, COMMIT_BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random())));

/** Runs what it is given, so much at a time, first come, first served. */
function createSlots(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
