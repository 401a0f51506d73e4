// What an author hands to ctx, checked and turned into requests. Each function throws a TorenError that says what was wrong with which argument.
import { TorenError } from "../errors.ts";
import { canonical, type Json, NotJson, toJson } from "../json.ts";
import { PARALLEL_MAX, SIGNAL_NAME_MAX_CHARS, TIME_MAX_MS, WAVE_TASKS_MAX } from "../limits.ts";
import {
  type ChildRequest,
  type Request,
  type SignalRequest,
  type StepFn,
  type StepRequest,
  type TaskRequest,
  taskRequest,
  type WaveRequest,
  withinPayload,
} from "./request.ts";

/** A task to be: which role works on what. */
export interface TaskSpec {
  readonly role: string;
  readonly input: Json;
}

export interface WaveOptions {
  /** `fail` (default): the first failed task ends the wave, which rejects with WaveFailed. `collect`: all are waited for, failures are results. */
  readonly onTaskFailure?: "fail" | "collect";
  /** Tasks of the wave that are worked on at once, over all workers. Default: no bound but the agent's and its models'. */
  readonly maxParallel?: number;
  /** From planning on; tasks that haven't ended by then fail with `task.timeout`. Default: none. */
  readonly timeoutMs?: number;
}

export interface StepOptions {
  /** Tries in all, with a growing pause between them. Default 3. */
  readonly attempts?: number;
  /** For each try. Default 5 minutes. */
  readonly timeoutMs?: number;
}

const bad = (message: string): TorenError => new TorenError("workflow.bad_argument", message);

function named(call: string, what: string, value: unknown): string {
  if (typeof value !== "string") throw bad(`${call}: ${what} must be a string, not ${kind(value)}`);
  if (value.trim() === "") throw bad(`${call}: ${what} is empty`);
  return value;
}

const kind = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "an array" : typeof value);

function asJson(call: string, value: unknown): Json {
  try {
    return toJson(value);
  } catch (e) {
    if (e instanceof NotJson) throw new TorenError("workflow.not_json", `${call}: input ${e.message}`);
    throw e;
  }
}

function options(call: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw bad(`${call}: options must be an object, not ${kind(given)}`);
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    throw bad(`${call}: unknown option ${key} (known: ${known.join(", ")})`);
  }
}

function durationMs(call: string, what: string, value: unknown, least: number): number {
  if (typeof value !== "number" || !(value >= least && value <= TIME_MAX_MS)) {
    throw bad(`${call}: ${what} must be a number of milliseconds from ${least} to ${TIME_MAX_MS}, not ${shown(value)}`);
  }
  return value + 0; // -0 is 0
}

const shown = (value: unknown): string => (typeof value === "number" ? String(value) : kind(value));

function oneTask(call: string, role: unknown, input: unknown): TaskRequest {
  return taskRequest(named(call, "role", role), asJson(call, input));
}

export function task(role: string, input: Json): TaskSpec {
  const { digest: _, ...spec } = oneTask("ctx.task", role, input);
  return spec;
}

export function wave(name: string, tasks: readonly TaskSpec[], given: WaveOptions): WaveRequest {
  const call = `ctx.wave(${JSON.stringify(named("ctx.wave", "name", name))})`;
  if (!Array.isArray(tasks)) throw bad(`${call}: tasks must be an array, not ${kind(tasks)}`);
  if (tasks.length > WAVE_TASKS_MAX) {
    throw new TorenError(
      "wave.too_large",
      `${call}: ${tasks.length} tasks; a wave has ${WAVE_TASKS_MAX} at most: plan several`,
    );
  }
  options(call, given, ["onTaskFailure", "maxParallel", "timeoutMs"]);
  const onTaskFailure = given.onTaskFailure ?? "fail";
  if (onTaskFailure !== "fail" && onTaskFailure !== "collect")
    throw bad(`${call}: onTaskFailure must be "fail" or "collect"`);
  const requests = Array.from(tasks as readonly unknown[], (item, i) => {
    const spec = item as Partial<TaskSpec> | null | undefined;
    if (typeof spec !== "object" || spec === null)
      throw bad(`${call}: tasks[${i}] must be made by ctx.task, not ${kind(item)}`);
    return oneTask(`${call} tasks[${i}]`, spec.role, spec.input);
  });
  const { maxParallel = null } = given;
  if (maxParallel !== null && !(Number.isInteger(maxParallel) && maxParallel >= 1 && maxParallel <= PARALLEL_MAX))
    throw bad(`${call}: maxParallel must be a whole number from 1 to ${PARALLEL_MAX}, not ${shown(maxParallel)}`);
  const timeoutMs = timeout(call, given.timeoutMs);
  return { type: "wave", name, onTaskFailure, timeoutMs, maxParallel, tasks: requests };
}

/** A wave of one, named by its role. */
export function ask(role: string, input: Json, given: { readonly timeoutMs?: number }): WaveRequest {
  const call = `ctx.ask(${JSON.stringify(named("ctx.ask", "role", role))})`;
  options(call, given, ["timeoutMs"]);
  const tasks = [oneTask(call, role, input)];
  const timeoutMs = timeout(call, given.timeoutMs);
  return { type: "wave", name: role, onTaskFailure: "fail", timeoutMs, maxParallel: null, tasks };
}

const timeout = (call: string, value: number | undefined): number | undefined =>
  value === undefined ? undefined : durationMs(call, "timeoutMs", value, 1);

export function step(name: string, fn: StepFn, given: StepOptions, defaults: Required<StepOptions>): StepRequest {
  const call = `ctx.step(${JSON.stringify(named("ctx.step", "name", name))})`;
  if (typeof fn !== "function") throw bad(`${call}: the second argument must be a function, not ${kind(fn)}`);
  options(call, given, ["attempts", "timeoutMs"]);
  const attempts = given.attempts ?? defaults.attempts;
  if (!Number.isSafeInteger(attempts) || attempts < 1)
    throw bad(`${call}: attempts must be a whole number from 1, not ${shown(attempts)}`);
  return { type: "step", name, fn, attempts, timeoutMs: timeout(call, given.timeoutMs) ?? defaults.timeoutMs };
}

export function waitFor(signal: string, given: { readonly timeoutMs?: number }): SignalRequest {
  const call = `ctx.waitFor(${JSON.stringify(named("ctx.waitFor", "signal", signal))})`;
  if (signal.length > SIGNAL_NAME_MAX_CHARS)
    throw bad(`${call}: a signal's name has ${SIGNAL_NAME_MAX_CHARS} characters at most`);
  options(call, given, ["timeoutMs"]);
  const { timeoutMs } = given;
  return {
    type: "signal",
    signal,
    timeoutMs: timeoutMs === undefined ? undefined : durationMs(call, "timeoutMs", timeoutMs, 0),
  };
}

export function child(process: string, input: Json): ChildRequest {
  const call = `ctx.run(${JSON.stringify(named("ctx.run", "process", process))})`;
  const value = asJson(call, input);
  withinPayload(canonical(value), `${call}: the input`);
  return { type: "child", process, input: value };
}

/** What a workflow goes on with. */
export function continuation(input: unknown): Json {
  const value = asJson("ctx.continueAsNew", input);
  withinPayload(canonical(value), "ctx.continueAsNew: the input");
  return value;
}

export const sleep = (ms: number): Request => ({ type: "sleep", ms: durationMs("ctx.sleep", "ms", ms, 0) });

export function sleepUntil(time: number | Date): Request {
  const until = typeof time === "number" ? time : hasTime(time) ? time.getTime() : Number.NaN;
  if (!(Math.abs(until) <= TIME_MAX_MS))
    throw bad("ctx.sleepUntil: time must be a valid Date or milliseconds since 1970");
  return { type: "sleepUntil", until: until + 0 };
}

/** A Date, of whatever realm. */
const hasTime = (value: unknown): value is { getTime(): number } =>
  typeof value === "object" && value !== null && "getTime" in value && typeof value.getTime === "function";
