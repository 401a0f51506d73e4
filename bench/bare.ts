// What is compared with: plain statements that any program would pay for, on connections with nothing around them.
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { NewEvent } from "../shared/ports/store.ts";

/** What closes a step of a task and opens the next. */
export const EVENTS: readonly NewEvent[] = [
  {
    type: "ToolCallCompleted",
    payload: {
      stepId: "s1",
      toolUseId: "call_1",
      result: "A row lock is held until its transaction ends. ".repeat(5),
      isError: false,
    },
  },
  {
    type: "LlmCallStarted",
    payload: { stepId: "s2", requestDigest: `d1:${"x".repeat(43)}`, model: "mock/instant", purpose: "step" },
  },
];

const TEXT = "INSERT INTO bench.bare (run_id, stream_id, seq, type, payload) VALUES ($1, $2, $3, $4, $5)";

/** What any program pays that writes a row of the kind and size of an event. A stream of its own per connection. */
export function bareInsert(client: pg.Client): () => Promise<void> {
  const [event] = EVENTS;
  const payload = JSON.stringify(event?.payload);
  const runId = randomUUID();
  let seq = 0;
  return async () => {
    await client.query({ name: "bare", text: TEXT, values: [runId, "run", ++seq, event?.type, payload] });
  };
}

/** A step's two events for each of 64 runs: as much as a flush of the engine's may hold. */
export const BATCH_ROWS = 128;

const BATCH = `INSERT INTO bench.bare (run_id, stream_id, seq, type, payload)
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::jsonb[])`;

/** As many rows in one statement. */
export function batchedInsert(client: pg.Client, rows = BATCH_ROWS): () => Promise<void> {
  const [event] = EVENTS;
  const payload = JSON.stringify(event?.payload);
  const all = Array.from({ length: rows }, (_, i) => i);
  const runId = all.map(() => randomUUID());
  let seq = 0;
  return async () => {
    seq++;
    const values = [
      runId,
      all.map(() => "run"),
      all.map(() => seq),
      all.map(() => event?.type),
      all.map(() => payload),
    ];
    await client.query({ name: "batch", text: BATCH, values });
  };
}
