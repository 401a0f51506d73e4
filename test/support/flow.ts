// Gates in Postgres, as tests hold them.
import type { Database } from "../../shared/ports/database.ts";

export async function forgetGates({ pool }: Database): Promise<void> {
  await pool.query("DELETE FROM toren_control.gates");
}

/** As if so much time had passed at all gates. */
export async function passFlowTime({ pool }: Database, ms: number): Promise<void> {
  await pool.query(`
    UPDATE toren_control.gates SET cool_until = cool_until - ${ms} * interval '1 ms', moved_at = moved_at - ${ms} * interval '1 ms';
    UPDATE toren_control.gate_entries SET until = until - ${ms} * interval '1 ms', since = since - ${ms} * interval '1 ms', call_due = call_due - ${ms} * interval '1 ms', not_before = not_before - ${ms} * interval '1 ms', seen_at = seen_at - ${ms} * interval '1 ms'`);
}

/** Gates whose counters aren't what their entries say. Empty, whenever nothing is under way. */
export async function miscounted({ pool }: Database): Promise<unknown[]> {
  const { rows } = await pool.query(`
    SELECT g.key, g.inside, g.waiting, count(e.key) FILTER (WHERE e.inside)::int AS are_inside, count(e.key) FILTER (WHERE NOT e.inside)::int AS do_wait
    FROM toren_control.gates g LEFT JOIN toren_control.gate_entries e ON e.key = g.key GROUP BY g.key
    HAVING g.inside <> count(e.key) FILTER (WHERE e.inside) OR g.waiting <> count(e.key) FILTER (WHERE NOT e.inside)`);
  return rows;
}
