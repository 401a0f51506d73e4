// What a fork has of the children of its source: not the runs, which are another run's, but their answers, as far as its log holds them. A child whose answer
// it has may be taken over as one of its own; any other concerns it no more, since whoever forked was told what is done anew.
import type { Recorded, RunEvent, TaskOutcome } from "../events.ts";

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

/** Follows a raw log from its beginning. */
export class Inherited {
  /** How children of the source ended, by their ids. Empty: the run is no fork. */
  ends: ReadonlyMap<string, TaskOutcome> = new Map();
  readonly #runOf = new Map<number, string>();
  readonly #ended = new Map<string, TaskOutcome>();
  #foreign: ReadonlySet<string> = new Set();

  started({ seq, run }: Recorded<Of<"ChildStarted">>): void {
    this.#runOf.set(seq, run);
  }

  ended({ op, outcome }: Of<"ChildEnded">): void {
    this.#ended.set(this.#runOf.get(op) ?? "", outcome);
  }

  /** What stands until here is the source's. */
  forked(): void {
    this.#foreign = new Set(this.#runOf.values());
    this.ends = new Map([...this.#ended].filter(([run]) => this.#foreign.has(run)));
  }

  /** `cut`: what the workflow had asked for because of the operation's end. From the place of a fork on, all of it is done anew. */
  reopened({ op, run, fork }: Of<"OperationReopened">, cut: readonly RunEvent[]): void {
    const anew = fork ? cut.flatMap((e) => (e.type === "ChildStarted" ? [e.run] : [])) : [];
    const gone = new Set([this.#runOf.get(op), ...anew]);
    this.ends = new Map([...this.ends].filter(([id]) => !gone.has(id)));
    if (run !== undefined) this.#runOf.set(op, run);
  }

  /** Whether it is the run's own, or its answer is. */
  has(run: string): boolean {
    return !this.#foreign.has(run) || this.ends.has(run);
  }
}
