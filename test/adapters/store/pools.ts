// Pools that a test can watch or harm: the statements they carry are counted, and chosen ones lose their acknowledgement.
import type { Pool, PoolClient } from "pg";
import type { Database } from "../../../shared/ports/database.ts";

interface Socket {
  removeAllListeners(event: "data"): void;
  once(event: "data", listener: () => void): void;
  destroy(): void;
}
const socketOf = (client: PoolClient): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/** The verb of a prepared statement; empty for others. */
const verbOf = (query: unknown): string => ((query as { name?: string }).name ?? "").split(":")[0] ?? "";

type Harm =
  /** The server does all of it; its answer meets a dead socket. */
  | "answer"
  /** The connection dies before the statement leaves. */
  | "question"
  | null;

export interface Watched {
  readonly database: Database;
  /** Verbs of the statements that were sent, in order. */
  readonly sent: string[];
  /** SQLSTATEs that came back. */
  readonly codes: string[];
}

/** `harm` is asked for each prepared statement: its verb, and the how-manieth of that verb it is, from 1. */
export function watched(database: Database, harm: (verb: string, nth: number) => Harm = () => null): Watched {
  const sent: string[] = [];
  const codes: string[] = [];
  const query = async (pool: Pool, args: unknown[]): Promise<unknown> => {
    const verb = verbOf(args[0]);
    if (verb !== "") sent.push(verb);
    const nth = sent.filter((v) => v === verb).length;
    const client = await pool.connect();
    const how = verb === "" ? null : harm(verb, nth);
    const socket = socketOf(client);
    if (how === "question") socket.destroy();
    if (how === "answer") {
      socket.removeAllListeners("data");
      socket.once("data", () => socket.destroy());
    }
    try {
      const result = await (client.query as (...a: unknown[]) => Promise<unknown>)(...args);
      client.release();
      return result;
    } catch (e) {
      codes.push((e as { code?: string }).code ?? "none");
      client.release(how !== null);
      throw e;
    }
  };
  const wrap = (pool: Pool): Pool =>
    new Proxy(pool, {
      get: (target, name) =>
        name === "query" ? (...args: unknown[]) => query(target, args) : Reflect.get(target, name, target),
    });
  return { database: { ...database, appends: wrap(database.appends), pool: wrap(database.pool) }, sent, codes };
}
