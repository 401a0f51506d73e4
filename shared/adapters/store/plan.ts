// The tick's append that plans waves and starts children: not grouped with others, because it brings rows of its own. Large inputs of many go to the blobs, so
// that the statement stays as small as any batch.
import type { Pool } from "pg";
import { digestOf } from "../../core/digest.ts";
import { COMMIT_BATCH_BYTES, GRACE_MS, PAYLOAD_INLINE_BYTES } from "../../core/limits.ts";
import { NO_ATTRIBUTES, termsOf } from "../../core/terms.ts";
import type { DataKey } from "../../ports/sealer.ts";
import type { Plan, Planned, PlannedChild, StreamStore } from "../../ports/store.ts";
import { writeBlobs } from "./blobs.ts";
import { explained, repeatable, type Statements } from "./statements.ts";
import { type Blob, type Stored, storedContent, storedEvent } from "./values.ts";

export const createPlanner =
  (pool: Pool, statements: Statements): StreamStore["plan"] =>
  async (plan) => {
    const { agent, runId } = plan.lease.stream;
    const { children: begun = [] } = plan;
    const fresh = plan.waves.flatMap((w) => w.fresh);
    const inputsSent = fresh.length + begun.length * CHILD_INPUT_COPIES;
    const inlineBytes = Math.min(PAYLOAD_INLINE_BYTES, Math.floor(COMMIT_BATCH_BYTES / inputsSent));
    const { seals } = statements;
    const key = await seals.toWrite(agent, runId);
    const events = plan.events.map((e) => storedEvent(e, key, begun.length > 0 ? inlineBytes : PAYLOAD_INLINE_BYTES));
    const inputs = fresh.map((t) => storedContent(`The input of task ${t.taskId}`, t.input, "input", key, inlineBytes));
    await writeBlobs(
      statements,
      agent,
      runId,
      [...events, ...inputs].flatMap((part) => part.blobs),
    );
    const children = await Promise.all(
      begun.map(async (child) => storedChild(plan, child, inlineBytes, await seals.sealer.fresh(child.runId))),
    );
    for (const { child, blobs } of children) await writeBlobs(statements, agent, child.runId, blobs);
    try {
      const answer = await repeatable<{ inbox_seq: number; complete: number[] }>(
        pool,
        "plan",
        agent,
        [...valuesOf(plan, events, inputs), ...childColumns(plan, children)],
        true,
      );
      const [row] = answer.rows;
      if (row !== undefined) return ok(plan, row);
      return answer.doubtful ? await recognised(statements, plan) : { type: "conflict" };
    } catch (e) {
      throw explained(e);
    }
  };

/** In its start, in its row, and in its own first event. */
const CHILD_INPUT_COPIES = 3;

interface StoredChild {
  readonly child: PlannedChild;
  readonly input: Stored;
  readonly created: Stored;
  readonly blobs: readonly Blob[];
  /** Its own, not its parent's: it can be read, and forgotten, by itself. Null: it is plain. */
  readonly key: DataKey | null;
}

function storedChild(plan: Plan, child: PlannedChild, inlineBytes: number, key: DataKey | null): StoredChild {
  const { process, input: value, depth } = child;
  const input = storedContent(`The input of run ${child.runId}`, value, "input", key, inlineBytes);
  const parent = { run: plan.lease.stream.runId, depth };
  const created = storedEvent({ type: "RunCreated", payload: { process, input: value, parent } }, key, inlineBytes);
  return { child, input, created, blobs: [...input.blobs, ...created.blobs], key };
}

const childColumns = (plan: Plan, children: readonly StoredChild[]): unknown[] => [
  children.map((c) => c.child.runId),
  children.map((c) => c.child.process),
  children.map((c) => c.child.mode),
  children.map((c) => c.input.text),
  children.map((c) => c.created.text),
  children.map(({ child: { process, input } }) => digestOf({ process, input })),
  children.map((c) => JSON.stringify(c.key === null ? termsOf(c.child.input, NO_ATTRIBUTES) : [])),
  children[0]?.child.codeHash ?? "",
  plan.lease.stream.agent,
  children.map((c) => c.key?.wrapped ?? null),
];

const ok = (plan: Plan, row: { inbox_seq: number; complete: number[] }): Planned => ({
  type: "ok",
  head: plan.head + plan.events.length,
  inboxSeq: row.inbox_seq,
  complete: row.complete,
});

/** Whether a repeated plan that met a conflict had landed the first time: under my epoch nobody but me writes. */
async function recognised(statements: Statements, plan: Plan): Promise<Planned> {
  const { agent, runId } = plan.lease.stream;
  const values = [runId, plan.waves.map((w) => w.wave)];
  const [seen] = await statements.change<{
    head_seq: number;
    lease_epoch: number;
    inbox_seq: number;
    complete: number[];
  }>("read-plan", agent, values);
  const mine =
    seen !== undefined && seen.lease_epoch === plan.lease.epoch && seen.head_seq === plan.head + plan.events.length;
  return mine ? ok(plan, seen) : { type: "conflict" };
}

function valuesOf(plan: Plan, events: readonly Stored[], inputs: readonly Stored[]): unknown[] {
  const fresh = plan.waves.flatMap((w) => w.fresh.map((task) => ({ wave: w.wave, ...task })));
  const claimed = plan.waves.flatMap((w) => w.claimed.map((taskId) => ({ wave: w.wave, taskId })));
  return [
    plan.lease.stream.runId,
    plan.head,
    plan.lease.epoch,
    plan.events.map((e) => e.type),
    events.map((e) => e.text),
    plan.events.some((e) => e.type.endsWith("Completed")),
    plan.lease.leaseMs,
    GRACE_MS,
    plan.waves.map((w) => w.wave),
    plan.waves.map((w) => w.onTaskFailure),
    fresh.map((t) => t.wave),
    fresh.map((t) => t.taskId),
    fresh.map((t) => t.role),
    inputs.map((i) => i.text),
    fresh.map((t) => t.digest),
    claimed.map((t) => t.wave),
    claimed.map((t) => t.taskId),
    plan.waves.map((w) => w.maxParallel),
    plan.events.filter((e) => e.type === "StreamInvalidated").length,
  ];
}
