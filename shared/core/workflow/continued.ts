// How a run goes on anew (ctx.continueAsNew): what its next part begins with. All of it stands in one event, so that nothing before is ever read again.
//
// P1  A part is executed as a run is: from its start, on what is on record of it. What stands before its beginning is never executed, cut or claimed again.
// P2  Numbers go on: events, waves and their tasks, facts of the inbox. So ids stay new, and a fact about what was before concerns nobody.
// P3  Signals that nobody had received go with it, by value, in the order in which they came. One that was given to a wait is gone, whatever became of it.
// P4  What the part before hadn't settled is stopped, as at a run's end (engine/let-go.ts).
// P5  A part that waited for nothing does no work: after CONTINUATIONS_IDLE_MAX of them in a row the run fails, or it would go round for ever.
import type { RunEvent } from "../events.ts";
import { canonical, type Json, utf8Bytes } from "../json.ts";
import { CONTINUATIONS_IDLE_MAX, PAYLOAD_MAX_BYTES } from "../limits.ts";
import { type Ending, failed } from "./ending.ts";
import { isRunFact, type RunHistory, type Signal } from "./fold.ts";

export type RunContinued = Extract<RunEvent, { type: "RunContinued" }>;

/** Which part of its run this is, from 0. */
export const partOf = ({ begun }: RunHistory): number => (begun.type === "RunContinued" ? begun.part : 0);

/** Signals that had come before the part began, and that nobody had received. */
export const keptSignals = ({ begun }: Pick<RunHistory, "begun">): Signal[] =>
  begun.type === "RunContinued" ? begun.signals.map((kept) => ({ type: "SignalReceived", ...kept })) : [];

/** `unheard`: signals that are still there, in any order. `waves`: how many this tick records. */
export function continued(
  history: RunHistory,
  input: Json,
  unheard: readonly Signal[],
  waves: number,
): RunContinued | Extract<Ending, { type: "RunFailed" }> {
  const { begun, log, absorbed, nextWave } = history;
  const signals = unheard
    .map(({ signal, value, inboxSeq }) => ({ signal, value, inboxSeq }))
    .sort((a, b) => a.inboxSeq - b.inboxSeq);
  const waited = log.some(isRunFact) || signals.length < keptSignals(history).length;
  const idle = waited ? 0 : (begun.type === "RunContinued" ? begun.idle : 0) + 1;
  if (idle > CONTINUATIONS_IDLE_MAX)
    return failed(
      "workflow.runs_idle",
      `ctx.continueAsNew was called ${idle} times in a row with nothing awaited in between that needs somebody: wait for a task, a step, a signal or a time first`,
    );
  const bytes = utf8Bytes(canonical({ input, signals }));
  if (bytes > PAYLOAD_MAX_BYTES)
    return failed(
      "payload.too_large",
      `ctx.continueAsNew: the input and ${signals.length} signals that nobody has received have ${bytes} bytes together; at most ${PAYLOAD_MAX_BYTES} are allowed: receive them first`,
    );
  const { process, parent } = begun;
  return {
    type: "RunContinued",
    process,
    input,
    ...(parent === undefined ? {} : { parent }),
    part: partOf(history) + 1,
    nextWave: nextWave + waves,
    absorbed,
    signals,
    idle,
  };
}
