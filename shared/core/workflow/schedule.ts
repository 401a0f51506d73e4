// Deterministic re-execution of a workflow, as a pure function of (code, input, log, tick). AsyncLocalStorage and nextTick (window.ts) and createHash
// (digests) are all it takes from Node.
//
// S1  A window is what the code does between the feed of one completion and the end of the microtask queue. It is named by the operation whose completion
//     was fed (`after`; 0: the start), never by its place in the log: so facts may be absorbed in any grouping.
// S2  Only an operation that is on record, or in this tick's decisions, completes; one completion is fed at a time. What needs nobody outside (a read, an
//     empty wave, a wait for a signal that is here) completes at the end of its window, in recorded order, before the next fact of the log. A signal goes
//     to the wait that began first, or is kept.
// S3  Within a window operations are matched by digest, equal ones in issue order. The order of unequal ones is free.
// S4  A recorded operation that its window didn't issue is a contradiction: cut from the first of them (I6). An additional one is none: it is decided now.
// S5  A cut removes operations, never facts (fold.ts).
// S6  Decision i will have seq head + i + 1, so one pass feeds a whole inbox.
// S7  A tick that ends the run records, of what it decided, only what needs nobody outside (reads, empty waves, waits for signals): of the rest nothing was seen, nobody
//     has to start it, and the end is one append. Reads stay although not all were fed: equal ones in one window must all be there to be told apart.
//     So does one that goes on anew (continued.ts: P1–P5), although nobody will execute them again: whoever reads the log sees what the code was told.
// S8  A dry window is sealed: whoever calls ctx then was woken by something foreign. It gets no answer, and `foreign()` turns true.
import { TorenError } from "../errors.ts";
import type { Json } from "../json.ts";
import { createContext, type GoOn, type WorkflowFn } from "./context.ts";
import type { Decision, Tick, WaveDecision } from "./decide.ts";
import { endingOf, errorOf } from "./ending.ts";
import type { RunHistory } from "./fold.ts";
import type { Advance, Outcome, PendingOperation, StepCall } from "./outcome.ts";
import { Session } from "./session.ts";
import { asAuthorsCode } from "./window.ts";

export type { Advance, Decision, Outcome, PendingOperation, StepCall, Tick, WaveDecision };

/** What is executed, and on what. */
export interface Execution<I> {
  readonly workflow: WorkflowFn<I>;
  readonly input: I;
  readonly runId: string;
  /** How many runs stand above this one. */
  readonly depth: number;
  /** Why the workflow can't go on with an input; null: it can. Left out: with any. */
  refuses?(input: Json): string | null;
}

/** Runs the workflow as far as its log carries it. Rejects only for a bug of ours. */
export async function advance<I>(execution: Execution<I>, history: RunHistory, tick: Tick): Promise<Advance> {
  const session = new Session(execution.runId, history, tick);
  const { input, runId, depth, refuses = () => null } = execution;
  const goOn: GoOn = (next) => {
    const why = refuses(next);
    if (why !== null) throw new TorenError("workflow.bad_input", `ctx.continueAsNew: ${why}`);
    return session.goOn(next);
  };
  const ctx = createContext(input, runId, depth, session.issue, goOn);
  const body = async (): Promise<void> => {
    try {
      session.end(endingOf(await execution.workflow(ctx)));
    } catch (e) {
      session.end({ type: "RunFailed", error: errorOf(e) }, e);
    }
  };
  await session.window(0, () => void asAuthorsCode(`workflow of run ${execution.runId}`, body));
  for (let next = session.next(); next !== undefined; next = session.next()) await session.feed(next);
  return session.conclude();
}
