// Child runs in the store's twin for the simulation: what a parent's tick asks about them.
import type { TaskOutcome } from "../../shared/core/events.ts";
import type { ChildStore } from "../../shared/ports/store.ts";
import { ask, type Connection } from "./connection.ts";
import { type Run, statusOf, type Transaction } from "./database.ts";
import { spentOf, unrepeatable } from "./store.ts";
import { stored } from "./stored.ts";

/** These runs, and what stands below them. */
export const treeOf = (tx: Transaction, runs: readonly string[]): Run[] =>
  runs.flatMap((id) => {
    const run = tx.db.run(id);
    return run === undefined
      ? []
      : [
          run,
          ...treeOf(
            tx,
            tx.db.childrenOf(id).map((c) => c.record.runId),
          ),
        ];
  });

export function createSimChildren(connection: Connection): ChildStore {
  const own = (tx: Transaction, parent: string, wanted: readonly string[]): Run[] =>
    tx.db.childrenOf(parent).filter((run) => wanted.includes(run.record.runId));
  return {
    outcomes: (_, parent, wanted) =>
      ask(connection, "child outcomes", (tx) =>
        own(tx, parent, wanted)
          .filter((run) => run.record.ended !== null)
          .map((run) => ({ runId: run.record.runId, outcome: outcomeOf(run) })),
      ),
    present: (_, parent, wanted) =>
      ask(connection, "children", (tx) => own(tx, parent, wanted).map((run) => run.record.runId)),
    claimable: (_, parent) =>
      ask(connection, "claimable children", (tx) =>
        tx.db
          .childrenOf(parent)
          .filter((run) => run.record.ended !== "cancelled")
          .map((run) => run.record.runId),
      ),
    unrepeatable: (_, runs) =>
      ask(connection, "unrepeatable below", (tx) =>
        runs.flatMap((child) =>
          treeOf(tx, [child]).flatMap(({ record: { runId }, specs }) =>
            [...specs.keys()]
              .sort()
              .flatMap((id) => unrepeatable(tx, runId, id).map(({ tool }) => ({ child, runId, tool }))),
          ),
        ),
      ),
    effects: async () => [],
    open: (_, parent) =>
      ask(connection, "open children", (tx) =>
        tx.db
          .childrenOf(parent)
          .filter((run) => run.record.ended === null)
          .map((run) => run.record.runId),
      ),
    list: (_, parent, limit) =>
      ask(connection, "list children", (tx) => {
        const all = tx.db.childrenOf(parent);
        const children = all.slice(0, limit).map(({ record }) => {
          const { runId, process, createdAt, endedAt } = record;
          return { runId, process, status: statusOf(record), createdAt, endedAt, spent: spentOf(tx, runId) };
        });
        return { children, count: all.length };
      }),
    allBelow: async () => [],
    below: async () => null,
  };
}

function outcomeOf({ record: { ended, output, error } }: Run): TaskOutcome {
  if (ended === "completed") return { status: "completed", output: output === null ? null : stored(output) };
  return { status: "failed", error: error as Extract<TaskOutcome, { status: "failed" }>["error"] };
}
