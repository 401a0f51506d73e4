// Looks for a text in every column of every table, large values and words that runs are found by included.
import type { Pool } from "pg";

/** As `table.column`, sorted. Write it in small letters without spaces: words that are searched for are kept so. */
export async function columnsWith(pool: Pool, text: string): Promise<string[]> {
  const { rows: columns } = await pool.query<{ table: string; column: string }>(
    `SELECT format('%I.%I', c.table_schema, c.table_name) AS table, c.column_name AS column FROM information_schema.columns c
     JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE (c.table_schema = 'toren_control' OR c.table_schema LIKE 'agent\\_%') AND t.table_type = 'BASE TABLE'`,
  );
  if (columns.length < 150) throw new Error(`only ${columns.length} columns were found`);
  const found: string[] = [];
  for (const [table, of] of Map.groupBy(columns, (c) => c.table)) {
    const has = of.map(
      ({ column }) => `bool_or(strpos(lower("${column}"::text), $1) > 0 OR strpos("${column}"::text, $2) > 0)`,
    );
    const { rows } = await pool.query<{ has: (boolean | null)[] }>(
      `SELECT ARRAY[${has.join(", ")}] AS has FROM ${table}`,
      [text, Buffer.from(text).toString("hex")],
    );
    for (const [i, { column }] of of.entries())
      if (rows[0]?.has[i] === true) found.push(`${table.replace(/^[^.]*\./, "")}.${column}`);
  }
  return [...new Set(found)].sort();
}

/** Every match in all that the agent's tables hold. */
export async function allIn(
  pool: Pool,
  agent: string,
  tables: readonly string[],
  pattern: RegExp,
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const table of tables) {
    const { rows } = await pool.query<{ text: string }>(`SELECT x::text AS text FROM agent_${agent}.${table} x`);
    for (const { text } of rows) for (const [hit] of text.matchAll(pattern)) found.add(hit);
  }
  return found;
}
