// What must hold of an agent's tables at any quiet moment. Each query returns what breaks the rule.
import { expect } from "@jest/globals";
import type { Pool } from "pg";

const RULES: Readonly<Record<string, string>> = {
  "I2: seq is gapless and reaches the head": `
    SELECT s.run_id, s.stream_id, s.head_seq, count(e.seq), max(e.seq) FROM agent.streams s LEFT JOIN agent.events e USING (run_id, stream_id)
    GROUP BY s.run_id, s.stream_id HAVING count(e.seq) <> s.head_seq OR coalesce(max(e.seq), 0) <> s.head_seq`,
  "I3: the inbox is gapless and reaches inbox_seq": `
    SELECT s.run_id, s.stream_id, s.inbox_seq, count(i.seq), max(i.seq) FROM agent.streams s LEFT JOIN agent.inbox i USING (run_id, stream_id)
    GROUP BY s.run_id, s.stream_id HAVING count(i.seq) <> s.inbox_seq OR coalesce(max(i.seq), 0) <> s.inbox_seq`,
  "the status of a run is exactly that of its streams": `
    SELECT * FROM (SELECT r.run_id, r.status, CASE
        WHEN s.status = 'ended' THEN s.outcome
        WHEN EXISTS (SELECT 1 FROM agent.streams c WHERE c.run_id = r.run_id AND c.wait = 'cut') THEN 'waitingCut'
        WHEN s.lease_epoch = 0 THEN 'created'
        WHEN s.wait = 'retry' THEN 'waitingRetry' WHEN s.wait = 'timer' THEN 'waitingTimer' WHEN s.wait = 'signal' THEN 'waitingSignal' ELSE 'running' END AS should
      FROM agent.runs r JOIN agent.streams s ON s.run_id = r.run_id AND s.stream_id = 'run') x WHERE status <> should`,
  "waiting_cut counts the streams that wait for a decision": `
    SELECT r.run_id, r.waiting_cut, count(s.*) FROM agent.runs r LEFT JOIN agent.streams s ON s.run_id = r.run_id AND s.wait = 'cut'
    GROUP BY r.run_id HAVING r.waiting_cut <> count(s.*)`,
  // A task counts in the wave of its id until a claim moves it; one that is moved unsettled never settles where it was.
  "a wave counts exactly what didn't settle in it, and is signalled when that is nothing": `
    WITH stays AS (
      SELECT run_id, stream_id, substring(stream_id from '^task:w([0-9]+)')::int AS wave, 0 AS seq FROM agent.streams WHERE stream_id <> 'run'
      UNION ALL SELECT run_id, stream_id, (payload ->> 'wave')::int, seq FROM agent.inbox WHERE kind = 'claim'
        AND key LIKE 'claim:%'
    ), left_open AS (
      SELECT t.run_id, t.wave, t.stream_id, lead(t.seq) OVER (PARTITION BY t.run_id, t.stream_id ORDER BY t.seq) IS NOT NULL OR s.status <> 'ended' AS open
      FROM stays t JOIN agent.streams s USING (run_id, stream_id)
    )
    SELECT w.*, x.n FROM agent.waves w, LATERAL (SELECT count(*) AS n FROM left_open l WHERE l.run_id = w.run_id AND l.wave = w.wave AND l.open) x
    WHERE w.unsettled <> x.n OR (w.unsettled = 0 AND NOT w.signalled)`,
  "I10: nobody parked has an unabsorbed fact, and a writer has a lease or the stream a clock": `
    SELECT * FROM agent.streams WHERE (status = 'parked' AND (inbox_seq > absorbed OR wait IS NULL))
      OR (status = 'ready' AND wake_at IS NULL) OR ((status = 'running') <> (lease_owner IS NOT NULL))`,
  "c17: every payload is an object": `
    SELECT run_id, seq FROM agent.events WHERE jsonb_typeof(payload) <> 'object'
    UNION ALL SELECT run_id, seq FROM agent.inbox WHERE jsonb_typeof(payload) <> 'object'`,
  "a wave rings at most once": `SELECT run_id, key FROM agent.inbox WHERE kind = 'wave' GROUP BY run_id, stream_id, key HAVING count(*) > 1`,
};

export async function expectSound(pool: Pool, agent: string): Promise<void> {
  const broken: Record<string, unknown[]> = {};
  for (const [rule, sql] of Object.entries(RULES)) {
    const { rows } = await pool.query(sql.replaceAll(/\bagent\./g, `agent_${agent}.`));
    if (rows.length > 0) broken[rule] = rows.slice(0, 5);
  }
  expect(broken).toEqual({});
}
