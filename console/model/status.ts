// What a run and a task are doing, in words, with an icon and a tone each: never by colour alone.
import type { TaskJson } from "../../shared/http/run-json.ts";
import type { IconName } from "./icons.ts";

/** `call` and `tool` are of steps that went well: they say what it was. */
export type Tone = "done" | "busy" | "wait" | "bad" | "none" | "replay" | "call" | "tool";
export interface Look {
  readonly word: string;
  readonly icon: IconName;
  readonly tone: Tone;
}

const RUNS = {
  created: { word: "Starting", icon: "dot", tone: "busy" },
  running: { word: "Running", icon: "spinner", tone: "busy" },
  waitingCut: { word: "Needs a decision", icon: "scissors", tone: "wait" },
  waitingApproval: { word: "Needs approval", icon: "hand", tone: "wait" },
  awaitingInput: { word: "Waits for its user", icon: "chat", tone: "wait" },
  waitingSignal: { word: "Waits for a signal", icon: "clock", tone: "wait" },
  waitingTimer: { word: "Waits for a time", icon: "clock", tone: "none" },
  waitingRetry: { word: "Tries again later", icon: "retry", tone: "wait" },
  completed: { word: "Completed", icon: "check", tone: "done" },
  failed: { word: "Failed", icon: "cross", tone: "bad" },
  cancelled: { word: "Cancelled", icon: "ban", tone: "none" },
} as const satisfies Readonly<Record<string, Look>>;

/** A status of a newer server is shown by its own name. */
export const lookOfRun = (status: string): Look =>
  Object.hasOwn(RUNS, status) ? RUNS[status as keyof typeof RUNS] : { word: status, icon: "dot", tone: "none" };

export const RUN_STATUSES = Object.keys(RUNS) as (keyof typeof RUNS)[];

const WAITS: Readonly<Record<string, Look>> = {
  wave: { word: "Waits for its tasks", icon: "clock", tone: "busy" },
  timer: { word: "Waits for a time", icon: "clock", tone: "none" },
  retry: RUNS.waitingRetry,
  cut: RUNS.waitingCut,
  claim: { word: "Not in the new plan", icon: "dot", tone: "none" },
  approval: RUNS.waitingApproval,
  input: RUNS.awaitingInput,
  signal: RUNS.waitingSignal,
};

export function lookOfTask(task: Pick<TaskJson, "status" | "outcome" | "wait">): Look {
  if (task.outcome !== null) return RUNS[task.outcome];
  if (task.status === "running") return RUNS.running;
  if (task.status === "parked") return WAITS[task.wait ?? ""] ?? { word: "Waits", icon: "clock", tone: "none" };
  return { word: "Ready", icon: "dot", tone: "busy" };
}
