// One re-execution under way: which operations the code issued, which of them the log knows, what completes next. The rules S1–S8 stand in schedule.ts.
import type { Recorded, TaskOutcome as RecordedOutcome } from "../events.ts";
import { ERROR_CAUSES_MAX } from "../limits.ts";
import type { Completion, Ended, GoOn, Issue } from "./context.ts";
import { continued, keptSignals, type RunContinued } from "./continued.ts";
import { createDecider, type Decider, emptyWaves, type Known, knownOf, type Tick } from "./decide.ts";
import { type Ending, FOREIGN_AWAIT, failed, firstOf, type Leave } from "./ending.ts";
import { isOperation, isRunFact, type Operation, type RunFact, type RunHistory, type Signal } from "./fold.ts";
import type { Advance, Culprit, Outcome, PendingOperation, StepCall } from "./outcome.ts";
import { digestOfRequest, type Request } from "./request.ts";
import { quiescence } from "./window.ts";

/** An operation that the code issued, and that isn't over. */
interface Issued {
  readonly known: Known;
  readonly request: Request;
  settle(by: Completion | undefined): void;
}
/** A completion and who gets it. `by` undefined: nobody outside was needed. */
interface Feed {
  readonly taker: Issued;
  readonly by: Completion | undefined;
}
type RecordedOperation = Recorded<Operation>;

export class Session {
  readonly #history: RunHistory;
  readonly #decider: Decider;
  readonly #operationsMax: number;
  /** Recorded operations that the code hasn't issued again, by window and digest, each list from the last to the first. */
  readonly #unmatched: Map<string, RecordedOperation[]>;
  readonly #facts: ArrayIterator<RunFact>;
  /** Signals that nobody has waited for yet, by name. */
  readonly #kept: Map<string, Signal[]>;
  readonly #pending = new Map<number, Issued>();
  readonly #settled = new Map<number, RecordedOutcome[]>();
  readonly #failures = new Map<number, { readonly count: number; readonly retryAt: number }>();
  readonly #ready: Feed[] = [];
  #fresh: Issued[] = [];
  #after = 0;
  #open = false;
  #late = false;
  #operations = 0;
  #exhausted = false;
  #ending: Leave | undefined;
  /** Errors that operations rejected with, and whose they are. */
  readonly #thrown = new WeakMap<object, Issued>();
  #lastFed: Feed | undefined;
  #culprit: Issued | undefined;

  constructor(runId: string, history: RunHistory, tick: Tick) {
    this.#history = history;
    this.#kept = Map.groupBy(keptSignals(history), (kept) => kept.signal);
    this.#decider = createDecider(runId, history, tick);
    this.#operationsMax = tick.operationsMax;
    this.#unmatched = Map.groupBy(history.log.filter(isOperation).reverse(), (op) => placeOf(op.after, op.digest));
    this.#facts = history.log.filter(isRunFact).values();
  }

  readonly issue: Issue = (request, read) => {
    if (!this.#open) {
      this.#late = true; // S8
      return never();
    }
    if (++this.#operations > this.#operationsMax) {
      this.#exhausted = true;
      this.#leave(
        failed(
          "workflow.too_many_operations",
          `the workflow issued more than ${this.#operationsMax} operations; one that goes on for ever begins anew by ctx.continueAsNew`,
        ),
      );
      return never();
    }
    if (request.type === "random") this.#decider.drawn();
    const digest = digestOfRequest(request);
    const recorded = this.#unmatched.get(placeOf(this.#after, digest))?.pop(); // S3
    const known = recorded ? knownOf(recorded.seq, recorded) : this.#decider.decide(request, digest, this.#after);
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof read>>();
    promise.catch(() => undefined); // a rejection that the code looks at later, or never, must not end the worker
    const settle = (by: Completion | undefined): void => {
      try {
        resolve(read(this.#endedOf(known, by)));
      } catch (e) {
        if (typeof e === "object" && e !== null) this.#thrown.set(e, issued);
        reject(e);
      }
    };
    const issued: Issued = { known, request, settle };
    this.#fresh.push(issued);
    return promise;
  };

  /** The workflow returned, threw `thrown`, or goes on anew. Outside a window something foreign brought it there. */
  end(ending: Leave, thrown?: unknown): void {
    if (!this.#open) {
      this.#late = true;
      return;
    }
    const first = this.#leave(ending) === ending;
    if (first && ending.type === "RunFailed") this.#culprit = this.#whose(thrown);
  }

  #leave(ending: Leave): Leave {
    this.#ending = firstOf(this.#ending, ending);
    return this.#ending;
  }

  readonly goOn: GoOn = (input) => {
    this.end({ type: "RunContinued", input });
    return never();
  };

  /** One window: wake the code, let it run dry, then note what it issued, in recorded order: a changed issue order changes nothing. */
  async window(after: number, wake: () => void): Promise<void> {
    this.#after = after;
    this.#open = true;
    wake();
    await quiescence();
    this.#open = false;
    for (const issued of this.#fresh.sort((a, b) => a.known.seq - b.known.seq)) {
      const { known, request } = issued;
      this.#pending.set(known.seq, issued);
      const alone = known.value !== undefined || (request.type === "wave" && request.tasks.length === 0);
      const signal = request.type === "signal" ? this.#kept.get(request.signal)?.shift() : undefined;
      if (alone || signal !== undefined) this.#ready.push({ taker: issued, by: signal });
    }
    this.#fresh = [];
  }

  /** The completion to feed next; undefined: the code ended, or waits for what hasn't happened yet (S2). */
  next(): Feed | undefined {
    if (this.#ending !== undefined) return undefined;
    const ready = this.#ready.shift();
    if (ready !== undefined) return ready;
    for (let fact = this.#facts.next(); !fact.done; fact = this.#facts.next()) {
      const feed = this.#absorb(fact.value);
      if (feed !== undefined) return feed;
    }
    return undefined;
  }

  async feed({ taker, by }: Feed): Promise<void> {
    const { seq } = taker.known;
    this.#pending.delete(seq);
    if (by !== undefined) this.#lastFed = { taker, by };
    await this.window(seq, () => taker.settle(by));
  }

  conclude(): Advance {
    const gone = this.#exhausted ? undefined : this.#firstUnmatched(); // beyond the limit nothing was looked at
    if (gone !== undefined)
      return { decisions: [], outcome: { type: "cut", fromSeq: gone.seq, reason: reasonOf(gone) } };
    if (this.#ending !== undefined) return this.#concludeWith(this.#ending);
    if (this.#pending.size === 0) return this.#concludeWith({ type: "RunFailed", error: FOREIGN_AWAIT });
    const pending = [...this.#pending.values()].sort((a, b) => a.known.seq - b.known.seq);
    const steps = pending.flatMap((issued) => this.#stepOf(issued));
    return {
      decisions: this.#decider.decisions,
      outcome: { type: "blocked", pending: pending.map(pendingOf), steps, foreign: () => this.#late },
    };
  }

  /** Notes what a fact says; answers with whom it completes, if anybody: it may concern an operation that is over or cut. */
  #absorb(fact: RunFact): Feed | undefined {
    if (fact.type === "SignalReceived") {
      const taker = this.#longestWaiting(fact.signal);
      if (taker === undefined) this.#kept.set(fact.signal, [...(this.#kept.get(fact.signal) ?? []), fact]);
      return taker && { taker, by: fact };
    }
    if (fact.type === "TaskSettled") {
      const outcomes = this.#settled.get(fact.op) ?? [];
      outcomes[fact.task] = fact.outcome;
      this.#settled.set(fact.op, outcomes);
      return undefined;
    }
    if (fact.type === "StepFailed" && fact.retryAt !== undefined) {
      this.#failures.set(fact.op, { count: (this.#failures.get(fact.op)?.count ?? 0) + 1, retryAt: fact.retryAt });
      return undefined;
    }
    const taker = this.#pending.get(fact.op);
    return taker && { taker, by: fact };
  }

  #longestWaiting(signal: string): Issued | undefined {
    const waiting = [...this.#pending.values()].filter(
      ({ request }) => request.type === "signal" && request.signal === signal,
    );
    return waiting.sort((a, b) => a.known.seq - b.known.seq)[0];
  }

  #endedOf(known: Known, by: Completion | undefined): Ended {
    return {
      by,
      taskIds: known.taskIds,
      runId: known.runId,
      outcomes: this.#settled.get(known.seq) ?? [],
      value: known.value ?? Number.NaN,
    };
  }

  /**
   * The operation whose failure this is: its error, also as the cause of another one. A workflow that looks at failures and throws an error of its own
   * has none; then it is the last thing that it heard of, if that failed (a wave under `collect`).
   */
  #whose(thrown: unknown): Issued | undefined {
    const seen = new Set<unknown>();
    for (let at = [thrown]; at.length > 0 && seen.size < ERROR_CAUSES_MAX; ) {
      const error = at.shift();
      if (typeof error !== "object" || error === null || seen.has(error)) continue;
      seen.add(error);
      const issued = this.#thrown.get(error);
      if (issued !== undefined) return issued;
      const { cause, errors } = error as { readonly cause?: unknown; readonly errors?: unknown };
      at = [...at, cause, ...(Array.isArray(errors) ? errors : [])];
    }
    const { taker, by } = this.#lastFed ?? {};
    if (taker?.request.type !== "wave") return undefined;
    const outcomes = this.#settled.get(taker.known.seq) ?? [];
    return by?.type === "TimerFired" || outcomes.some((o) => o?.status === "failed") ? taker : undefined;
  }

  #concludeWith(leave: Leave): Advance {
    const waves = emptyWaves(this.#decider.decisions);
    const ending =
      leave.type === "RunContinued" ? continued(this.#history, leave.input, this.#unheard(), waves) : leave;
    return { decisions: this.#decider.ended(ending), outcome: this.#outcomeOf(ending) };
  }

  #outcomeOf(ending: Ending | RunContinued): Outcome {
    switch (ending.type) {
      case "RunCompleted":
        return { type: "completed", output: ending.output };
      case "RunFailed":
        return { type: "failed", error: ending.error, culprit: culpritOf(this.#culprit) };
      case "RunContinued":
        return { type: "continued" };
    }
  }

  /** Signals that are here, and that the code hasn't been fed. */
  #unheard(): Signal[] {
    const given = this.#ready.flatMap(({ by }) => (by?.type === "SignalReceived" ? [by] : []));
    const facts = [...this.#facts].flatMap((fact) => (fact.type === "SignalReceived" ? [fact] : []));
    return [...given, ...[...this.#kept.values()].flat(), ...facts];
  }

  #firstUnmatched(): RecordedOperation | undefined {
    let first: RecordedOperation | undefined;
    for (const operations of this.#unmatched.values()) {
      const op = operations.at(-1);
      if (op !== undefined && (first === undefined || op.seq < first.seq)) first = op;
    }
    return first;
  }

  #stepOf({ known, request }: Issued): StepCall[] {
    if (request.type !== "step") return [];
    const failures = this.#failures.get(known.seq);
    const { seq, idempotencyKey } = known;
    const { name, fn, attempts, timeoutMs } = request;
    return [
      {
        seq,
        name,
        fn,
        attempts,
        timeoutMs,
        idempotencyKey,
        failures: failures?.count ?? 0,
        retryAt: failures?.retryAt ?? null,
      },
    ];
  }
}

const culpritOf = (issued: Issued | undefined): Culprit | null =>
  issued === undefined
    ? null
    : {
        seq: issued.known.seq,
        timeoutMs: "timeoutMs" in issued.request ? issued.request.timeoutMs : undefined,
      };

const placeOf = (after: number, digest: string): string => `${after} ${digest}`;
const never = (): Promise<never> => new Promise(() => undefined);

function pendingOf({ known, request }: Issued): PendingOperation {
  const { type } = request;
  const kind = type === "wave" || type === "step" || type === "signal" || type === "child" ? type : "timer"; // a read is never pending when all is fed
  return { seq: known.seq, type: kind, dueAt: known.dueAt };
}

function reasonOf(op: RecordedOperation): string {
  const name = "name" in op ? op.name : "signal" in op ? op.signal : "process" in op ? op.process : null;
  const what = name === null ? op.type : `${op.type} ${name}`;
  const where = op.after === 0 ? "at its start" : `after ${op.after}`;
  return `${what} (seq ${op.seq}) is not what the workflow does ${where} any more`;
}
