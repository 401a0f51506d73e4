// Which waits for signals are open, told from the log alone: who shows a run doesn't have its code. What is fed in which order is what session.ts does with
// the code at hand; here each window holds what is recorded for it.

import type { Recorded } from "../events.ts";
import { keptSignals } from "./continued.ts";
import { beginningOf, endsOperation, isOperation, isRunFact, type Operation, type RunLog } from "./fold.ts";

type Wait = Recorded<Extract<Operation, { type: "SignalAwaited" }>>;

/** `log`: the effective one. In the order in which they were recorded. */
export function awaitedSignals(log: RunLog): Wait[] {
  const windows = Map.groupBy(log.filter(isOperation), (op) => op.after);
  const pending = new Map<number, Recorded<Operation>>();
  const kept = Map.groupBy(keptSignals({ begun: beginningOf(log) }), (signal) => signal.signal);
  const ready: number[] = [];
  const open = (after: number): void => {
    for (const op of windows.get(after) ?? []) {
      pending.set(op.seq, op);
      const here = op.type === "SignalAwaited" && kept.get(op.signal)?.shift() !== undefined;
      if (here || "value" in op || (op.type === "WavePlanned" && op.tasks.length === 0)) ready.push(op.seq);
    }
  };
  const close = (first: number): void => {
    for (let seq: number | undefined = first; seq !== undefined; seq = ready.shift()) {
      if (pending.delete(seq) || seq === 0) open(seq);
    }
  };
  close(0);
  for (const fact of log.filter(isRunFact)) {
    if (fact.type === "SignalReceived") {
      const taker = waitsOf(pending).find((wait) => wait.signal === fact.signal);
      if (taker === undefined) kept.set(fact.signal, [...(kept.get(fact.signal) ?? []), fact]);
      else close(taker.seq);
    } else if (endsOperation(fact)) close(fact.op);
  }
  return waitsOf(pending);
}

const waitsOf = (pending: ReadonlyMap<number, Recorded<Operation>>): Wait[] =>
  [...pending.values()].filter((op) => op.type === "SignalAwaited").sort((a, b) => a.seq - b.seq);
