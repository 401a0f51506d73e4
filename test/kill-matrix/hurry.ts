// Waits of seconds that nobody should sit through: when nothing has moved for a moment, whatever waits for a time is due.
import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../../shared/ports/database.ts";

const LOOK_MS = 20;

/**
 * Until stopped: graces of ready streams and pauses before a step's next try pass when nothing moves, and `beat` is called: a heart that beats every ten
 * seconds. Never ends the lease of somebody who works.
 */
export function hurried(database: Database, agent: string, beat: () => unknown = () => {}): { stop(): Promise<void> } {
  const schema = `agent_${agent}`;
  const stopping = new AbortController();
  const { signal } = stopping;
  const look = async (): Promise<string> => JSON.stringify((await database.pool.query(stateQuery(schema))).rows);
  const loop = async (): Promise<void> => {
    for (let before = ""; !signal.aborted; await wait(LOOK_MS, undefined, { signal }).catch(() => {})) {
      const now = await look();
      if (now === before) {
        await database.pool.query(retriesDue(schema));
        await database.pool.query(gracesOver(schema));
        void beat(); // of a stack that dies of it there comes no answer
      }
      before = now;
    }
  };
  const done = loop();
  return {
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}

const stateQuery = (schema: string): string => `
  SELECT (SELECT array_agg((head_seq, inbox_seq, lease_epoch, status) ORDER BY run_id, stream_id) FROM ${schema}.streams)::text AS streams,
         (SELECT array_agg((id, receive_count) ORDER BY id) FROM toren_control.queue_messages)::text AS messages`;

/** A parked stream is looked at as well: its guardian's hint may have been lost, and the next one is 20 s away. */
const gracesOver = (schema: string): string => `
  UPDATE ${schema}.streams s SET wake_at = clock_timestamp()
  FROM (SELECT run_id, stream_id FROM ${schema}.streams WHERE status IN ('ready', 'parked') AND wake_at > clock_timestamp() FOR UPDATE SKIP LOCKED) w
  WHERE s.run_id = w.run_id AND s.stream_id = w.stream_id`;

/** The stream is parked, so nobody has the old time in memory. */
const retriesDue = (schema: string): string => `
  WITH waiting AS MATERIALIZED (
    SELECT run_id, stream_id FROM ${schema}.streams WHERE status = 'parked' AND wait = 'retry' AND wake_at > clock_timestamp() FOR UPDATE SKIP LOCKED
  ), due AS (
    UPDATE ${schema}.streams s SET wake_at = clock_timestamp() FROM waiting w WHERE s.run_id = w.run_id AND s.stream_id = w.stream_id
  )
  UPDATE ${schema}.events e SET payload = jsonb_set(payload, '{retryAt}', to_jsonb(floor(extract(epoch FROM clock_timestamp()) * 1000)))
  FROM waiting w WHERE e.run_id = w.run_id AND e.stream_id = w.stream_id AND e.type = 'StepFailed' AND payload ? 'retryAt'`;
