// How many connections each of the stack's users of the database has, looked at all the time.
import { setTimeout as sleep } from "node:timers/promises";
import { connectionLimits, DATABASE_USERS, type DatabaseUserOf } from "../../../cdk/connections.ts";
import { PLAN } from "./deployment.ts";
import type { Installation } from "./installation.ts";

export interface Seen {
  /** The most at one moment, by user. */
  readonly most: ReadonlyMap<string, number>;
  /** Of all users together, at one moment. */
  readonly mostOfAll: number;
}

const LIMITS = connectionLimits(PLAN);
export const ALL_LIMITS = Object.values(LIMITS).reduce((sum, limit) => sum + limit, 0);

/** Until what it returns is called. */
export function watchConnections({ sql }: Pick<Installation, "sql">): () => Promise<Seen> {
  const most = new Map<string, number>();
  let mostOfAll = 0;
  let watching = true;
  const watch = async (): Promise<void> => {
    while (watching) {
      const rows = await sql<{ name: string; n: number }>(
        "SELECT usename AS name, count(*)::int AS n FROM pg_stat_activity WHERE usename LIKE 'toren\\_%' GROUP BY 1",
      );
      for (const { name, n } of rows) most.set(name, Math.max(n, most.get(name) ?? 0));
      mostOfAll = Math.max(
        mostOfAll,
        rows.reduce((sum, { n }) => sum + n, 0),
      );
      await sleep(50);
    }
  };
  const watched = watch();
  return async () => {
    watching = false;
    await watched;
    return { most, mostOfAll };
  };
}

/** Users that had more than the stack's plan gives them. */
export const overLimit = ({ most }: Seen): string[] =>
  Object.entries(DATABASE_USERS).flatMap(([of, name]) =>
    (most.get(name) ?? 0) > LIMITS[of as DatabaseUserOf] ? [`${name}: ${most.get(name)}`] : [],
  );
