// The author's side of a workflow: ctx, what it returns and what it throws. shared/authoring exports the public names.
// Every call answers with a promise; a bad argument rejects it, nothing is recorded then.

import { TorenError } from "../errors.ts";
import type { TaskOutcome as RecordedOutcome, RunEvent } from "../events.ts";
import { type Json, toJson } from "../json.ts";
import { CHILD_DEPTH_MAX, STEP_ATTEMPTS_DEFAULT, STEP_TIMEOUT_MS } from "../limits.ts";
import type { StepOptions, TaskSpec, WaveOptions } from "./arguments.ts";
import * as args from "./arguments.ts";
import type { Request } from "./request.ts";

export type { StepOptions, TaskSpec, WaveOptions };

/** How a task ended. `error` reads `code: what happened`; `task.timeout` and `task.cancelled` are among the codes. */
export type TaskOutcome<T> = { readonly taskId: string } & (
  | { readonly status: "completed"; readonly output: T; readonly error?: undefined }
  | { readonly status: "failed"; readonly error: string; readonly output?: undefined }
);

/** Outcomes stand in the order of the tasks, whatever finished first. */
export interface WaveResult<T> {
  readonly name: string;
  readonly results: TaskOutcome<T>[];
}

/**
 * What a workflow may know of the world. Its code is run again from the start at every tick, with the recorded results: whatever else it reads
 * (Date.now, Math.random, a file, a variable of its module) may differ the next time. Put such things in a step.
 */
export interface WorkflowCtx<I = string> {
  readonly input: I;
  readonly runId: string;
  /** @throws TorenError `workflow.bad_argument`, `workflow.not_json`, `payload.too_large` */
  task(role: string, input: Json): TaskSpec;
  /** Runs up to 1,000 tasks in parallel. Rejects with WaveFailed. */
  wave<T = string>(name: string, tasks: readonly TaskSpec[], options?: WaveOptions): Promise<WaveResult<T>>;
  /** One task's output: a wave of one, named by its role. Rejects with TaskFailed. */
  ask<T = string>(role: string, input: Json, options?: { readonly timeoutMs?: number }): Promise<T>;
  /**
   * Runs code of any kind and records what it returns, as JSON. At least once: give `idempotencyKey`, the same for every try, to whatever has effects.
   * Rejects with TorenError `step.failed`, or with TimedOut, when the last try failed.
   */
  step<T>(
    name: string,
    fn: (step: { readonly idempotencyKey: string; readonly signal: AbortSignal }) => Promise<T>,
    options?: StepOptions,
  ): Promise<T>;
  /** Milliseconds since 1970 by the database's clock. */
  now(): Promise<number>;
  /** In [0, 1). */
  random(): Promise<number>;
  /** A run that sleeps holds no process. */
  sleep(ms: number): Promise<void>;
  /** Milliseconds since 1970, or a Date. A time that has passed is over at once. */
  sleepUntil(time: number | Date): Promise<void>;
  /**
   * The value of a signal of this name, which anybody may send to the run; null when `timeoutMs` passes without one (0: only looks whether one is there).
   * A signal that came before anybody waited is kept. Each goes to one wait, the one that began first.
   */
  waitFor<T = Json>(signal: string, options?: { readonly timeoutMs?: number }): Promise<T | null>;
  /**
   * Starts a process of the same agent as a run of its own, a child of this one, and answers with its output. Rejects with ChildFailed when it failed or was
   * cancelled, with TorenError `child.too_deep` where more runs stand above than may. A child spends from the budget of the run at the top, sees the files
   * attached to this one, and is cancelled when this run ends before it.
   */
  run<T = Json>(process: string, input: Json): Promise<T>;
  /**
   * Ends this workflow and begins it anew in the same run, with this input and nothing on record: for workflows that go on for ever. The promise never resolves;
   * write `return ctx.continueAsNew(input)`. What is still pending is cancelled, signals that nobody has received are kept.
   * @throws (rejects) TorenError `workflow.bad_input`, `workflow.not_json`, `payload.too_large`
   */
  continueAsNew(input: I): Promise<never>;
}

export type WorkflowFn<I = string> = (ctx: WorkflowCtx<I>) => Promise<Json>;

/** A wave under `onTaskFailure: "fail"` had a task that failed. Tasks that were still under way are failed with `task.cancelled`. */
export class WaveFailed<T = Json> extends Error {
  readonly results: readonly TaskOutcome<T>[];
  constructor(name: string, results: readonly TaskOutcome<T>[]) {
    const failed = results.filter((result) => result.status === "failed");
    const first = failed.find((result) => !result.error.startsWith("task.cancelled")) ?? failed[0];
    const why = first === undefined ? "" : `: task ${first.taskId}: ${first.error}`;
    super(`wave ${name} failed${why}`);
    this.name = "WaveFailed";
    this.results = results;
  }
}

/** The task of an `ask` failed. `code` is one of docs/reference/errors.md: task.timeout, task.cancelled, budget_exhausted, crash_loop … */
export class TaskFailed extends Error {
  readonly code: string;
  readonly taskId: string;
  constructor(code: string, taskId: string, message: string) {
    super(`task ${taskId} failed: ${message}`);
    this.name = "TaskFailed";
    this.code = code;
    this.taskId = taskId;
  }
}

/** A child run failed, or was cancelled. `code` is one of docs/reference/errors.md: what its own failure says, `run.cancelled`, `process.unknown` … */
export class ChildFailed extends Error {
  readonly code: string;
  readonly runId: string;
  constructor(code: string, runId: string, message: string) {
    super(`run ${runId} failed: ${message}`);
    this.name = "ChildFailed";
    this.code = code;
    this.runId = runId;
  }
}

/** A step's last try took longer than its `timeoutMs`. */
export class TimedOut extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TimedOut";
  }
}

/** What ended an operation; undefined: it needed nobody outside. */
export type Completion = Extract<
  RunEvent,
  { type: "WaveSettled" | "TimerFired" | "StepCompleted" | "StepFailed" | "SignalReceived" | "ChildEnded" }
>;

/** An operation that is over, as its reader sees it. */
export interface Ended {
  readonly by: Completion | undefined;
  /** Of a wave, in the plan's order. */
  readonly taskIds: readonly string[];
  /** Of a child; empty for anything else. */
  readonly runId: string;
  /** By place in the plan; sparse where a task hadn't ended. */
  readonly outcomes: readonly (RecordedOutcome | undefined)[];
  /** Of a read. */
  readonly value: number;
}

/** Records a request and answers when it is over with what `read` makes of it. A `read` that throws rejects. */
export type Issue = <T>(request: Request, read: (ended: Ended) => T) => Promise<T>;

/** Goes on anew with this input. Never comes back. @throws TorenError `workflow.bad_input` */
export type GoOn = (input: Json) => Promise<never>;

/** `depth`: how many runs stand above this one. */
export function createContext<I>(input: I, runId: string, depth: number, issue: Issue, goOn: GoOn): WorkflowCtx<I> {
  return {
    input: toJson(input) as I, // a copy: whoever changes it changes nobody else's
    runId,
    task: args.task,
    wave: <T>(name: string, tasks: readonly TaskSpec[], options: WaveOptions = {}) =>
      calling(() => {
        const request = args.wave(name, tasks, options);
        return issue(request, (ended): WaveResult<T> => {
          const results = request.tasks.map((_, i) => outcomeAt<T>(ended, i));
          if (request.onTaskFailure === "fail" && results.some((r) => r.status === "failed"))
            throw new WaveFailed(name, results);
          return { name, results };
        });
      }),
    ask: <T>(role: string, value: Json, options: { readonly timeoutMs?: number } = {}) =>
      calling(() =>
        issue(args.ask(role, value, options), (ended): T => {
          const outcome = recordedAt(ended, 0);
          if (outcome.status === "completed") return toJson(outcome.output) as T;
          throw new TaskFailed(outcome.error.code, ended.taskIds[0] ?? "", outcome.error.message);
        }),
      ),
    step: <T>(
      name: string,
      fn: (step: { idempotencyKey: string; signal: AbortSignal }) => Promise<T>,
      options: StepOptions = {},
    ) =>
      calling(() => {
        const defaults = { attempts: STEP_ATTEMPTS_DEFAULT, timeoutMs: STEP_TIMEOUT_MS };
        return issue(args.step(name, fn, options, defaults), ({ by }): T => {
          if (by?.type === "StepCompleted") return toJson(by.value) as T;
          if (by?.type !== "StepFailed")
            throw new TorenError("bug", `step ${name} was ended by ${by?.type ?? "nothing"}`);
          if (by.error.code === "step.timeout") throw new TimedOut(by.error.message);
          throw new TorenError(by.error.code, by.error.message);
        });
      }),
    now: () => issue({ type: "now" }, (ended) => ended.value),
    random: () => issue({ type: "random" }, (ended) => ended.value),
    sleep: (ms) => calling(() => issue(args.sleep(ms), () => undefined)),
    sleepUntil: (time) => calling(() => issue(args.sleepUntil(time), () => undefined)),
    waitFor: <T>(signal: string, options: { readonly timeoutMs?: number } = {}) =>
      calling(() =>
        issue(args.waitFor(signal, options), ({ by }) =>
          by?.type === "SignalReceived" ? (toJson(by.value) as T) : null,
        ),
      ),
    run: <T>(process: string, value: Json) =>
      calling(() => {
        if (depth >= CHILD_DEPTH_MAX)
          throw new TorenError(
            "child.too_deep",
            `ctx.run(${JSON.stringify(process)}): ${depth} runs stand above this one already, ${CHILD_DEPTH_MAX} at most may`,
          );
        return issue(args.child(process, value), ({ by, runId: child }): T => {
          if (by?.type !== "ChildEnded")
            throw new TorenError("bug", `run ${child} was ended by ${by?.type ?? "nothing"}`);
          if (by.outcome.status === "completed") return toJson(by.outcome.output) as T;
          throw new ChildFailed(by.outcome.error.code, child, by.outcome.error.message);
        });
      }),
    continueAsNew: (value) => calling(() => goOn(args.continuation(value))),
  };
}

/** A bad argument rejects the call's promise; like every promise of ctx it may be looked at later, or never. */
function calling<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (e) {
    const rejected = Promise.reject<T>(e);
    rejected.catch(() => undefined);
    return rejected;
  }
}

function recordedAt(ended: Ended, place: number): RecordedOutcome {
  const outcome = ended.outcomes[place];
  if (outcome !== undefined) return outcome;
  const error =
    ended.by?.type === "TimerFired"
      ? ({ code: "task.timeout", message: "not ended within the wave's time-out" } as const)
      : ({ code: "task.cancelled", message: "another task of the wave failed" } as const);
  return { status: "failed", error };
}

function outcomeAt<T>(ended: Ended, place: number): TaskOutcome<T> {
  const taskId = ended.taskIds[place] ?? "";
  const outcome = recordedAt(ended, place);
  if (outcome.status === "completed") return { taskId, status: "completed", output: toJson(outcome.output) as T };
  return { taskId, status: "failed", error: `${outcome.error.code}: ${outcome.error.message}` };
}
