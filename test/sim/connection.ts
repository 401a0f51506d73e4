// What lies between a worker and the database: answers that come late or never, requests that never arrive. A statement whose answer is lost goes on all
// the same, perhaps long after its sender has asked again.
import { TorenError } from "../../shared/core/errors.ts";
import { Deadlock, type SimDatabase, type Transaction, UniqueViolation } from "./database.ts";

export type Fate = "answered" | "request lost" | "answer lost";

/** One worker's way to the database. */
export interface Connection {
  readonly db: SimDatabase;
  /** Whose turn it is when an answer comes. */
  readonly owner: string;
  /** How far the worker's own clock is off. Only planted mistakes look at it. */
  readonly clockOffMs: number;
  /** Of one statement; past them the database is unavailable. */
  readonly tries: number;
  fate(): Fate;
}

/** `doubtful`: an earlier try of the same may have landed, or may land yet. `value` null: it violated a unique key. */
export interface Answer<T> {
  readonly value: T | null;
  readonly doubtful: boolean;
}

/** A statement that may be repeated as it is. @throws TorenError `database.unavailable` */
export async function repeatable<T>(
  { db, owner, fate, tries: triesMax }: Connection,
  label: string,
  body: (tx: Transaction) => T | Promise<T>,
): Promise<Answer<T>> {
  let doubtful = false;
  for (let tries = 1; ; tries++) {
    const what = fate();
    if (what === "request lost") await db.scheduler.point(owner, `${label} unsent`);
    else {
      const running = settledOf(db.statement(label, body));
      if (what === "answered") {
        const ended = await running;
        await db.scheduler.point(owner, `${label} answered`);
        if ("value" in ended) return { value: ended.value, doubtful };
        if (ended.thrown instanceof UniqueViolation) return { value: null, doubtful };
        if (!(ended.thrown instanceof Deadlock)) throw ended.thrown;
      } else {
        doubtful = true;
        if (db.random.chance(0.5)) await running;
        await db.scheduler.point(owner, `${label} unheard`);
      }
    }
    if (tries >= triesMax) throw new TorenError("database.unavailable", `${label}: no answer`);
  }
}

/** A statement that violates no key. */
export async function ask<T>(
  connection: Connection,
  label: string,
  body: (tx: Transaction) => T | Promise<T>,
): Promise<T> {
  const { value } = await repeatable(connection, label, async (tx) => ({ is: await body(tx) }));
  if (value === null) throw new UniqueViolation(`${label} met a unique key`);
  return value.is;
}

const settledOf = <T>(promise: Promise<T>): Promise<{ readonly value: T } | { readonly thrown: unknown }> =>
  promise.then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  );
