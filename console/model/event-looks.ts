// How events look that are no call: those that people look for first. Others are shown by their own names.
import type { IconName } from "./icons.ts";
import type { Tone } from "./status.ts";
import type { Outlined } from "./steps.ts";

export interface MarkLook {
  readonly icon: IconName;
  readonly tone: Tone;
  readonly name: string;
  readonly more?: string;
}

type Payload = Outlined["payload"];
type Look = (payload: Payload, note: string) => MarkLook;

export const words = (value: unknown): string => (typeof value === "string" ? value : "");
const errorWords = ({ error }: Payload): string => {
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  return [code, message].filter((text) => text !== undefined && text !== "").join(": ");
};
const failed =
  (icon: IconName, tone: Tone, name: string): Look =>
  (p) => ({ icon, tone, name, more: errorWords(p) });
const plain =
  (icon: IconName, tone: Tone, name: string): Look =>
  (p) => ({ icon, tone, name, more: words(p.said) });

const LOOKS: Readonly<Record<string, Look>> = {
  TaskStarted: (p, note) => ({
    icon: "replay",
    tone: "replay",
    name: `resumed, attempt ${p.attempt}`,
    more:
      note === "0"
        ? "there was nothing to use again"
        : `${note} recorded ${note === "1" ? "answer" : "answers"} used again, not paid`,
  }),
  StreamInvalidated: (p) => ({ icon: "scissors", tone: "wait", name: "cut", more: words(p.reason) }),
  CutRequested: (p) => ({ icon: "scissors", tone: "wait", name: "cut waits for a decision", more: words(p.reason) }),
  CutDecided: (p) => ({ icon: "scissors", tone: "done", name: `cut: ${p.decision}`, more: `by ${p.by}` }),
  ToolResultsElided: ({ toolUseIds }) => {
    const n = Array.isArray(toolUseIds) ? toolUseIds.length : 0;
    const more = `${n} of them, to make room; the log keeps them`;
    return { icon: "fold", tone: "none", name: "old results left out", more };
  },
  ContextCompacted: (p) => ({
    icon: "fold",
    tone: "none",
    name: "conversation folded",
    more: `${p.folded} messages became a summary`,
  }),
  ApprovalRequested: (p) => ({ icon: "hand", tone: "wait", name: `${p.tool} needs approval`, more: words(p.said) }),
  ApprovalResolved: ({ granted, by, comment }) => ({
    icon: granted === true ? "check" : "ban",
    tone: granted === true ? "done" : "bad",
    name: granted === true ? "approved" : "denied",
    more: [`by ${by}`, words(comment)].filter((text) => text !== "").join(": "),
  }),
  UserMessage: (p) => ({
    icon: "person",
    tone: "busy",
    name: p.steer === true ? "user steers" : "user",
    more: words(p.said),
  }),
  InputRequested: plain("chat", "done", "answer shown"),
  ToolCallCompleted: plain("warn", "bad", "call not run"),
  TaskCompleted: plain("check", "done", "completed"),
  TaskFailed: failed("cross", "bad", "failed"),
  RunFailed: failed("cross", "bad", "run failed"),
  TaskCancelled: failed("ban", "none", "cancelled"),
  RunCancelled: failed("ban", "none", "run cancelled"),
  RunCompleted: plain("check", "done", "run completed"),
  RunContinued: (p) => ({ icon: "replay", tone: "done", name: `went on anew, part ${p.part}`, more: words(p.said) }),
  FactIgnored: (p) => ({ icon: "dot", tone: "none", name: "ignored", more: words(p.reason) }),
  TimerSet: plain("clock", "none", "timer"),
  StepStarted: (p) => ({ icon: "tool", tone: "done", name: `step ${words(p.name)}` }),
  StepFailed: failed("warn", "bad", "step failed"),
  NowRead: plain("clock", "none", "read the time"),
  RandomRead: plain("dot", "none", "drew a random number"),
  SignalAwaited: (p) => ({ icon: "letter", tone: "wait", name: `waits for signal ${words(p.signal)}` }),
  SignalReceived: plain("letter", "done", "signal received"),
  ChildStarted: (p) => ({ icon: "fork", tone: "busy", name: `runs ${words(p.process)}`, more: words(p.run) }),
  ChildEnded: (p) =>
    p.status === "completed"
      ? { icon: "fork", tone: "done", name: "child run completed" }
      : { icon: "fork", tone: "bad", name: "child run failed", more: errorWords(p) },
};

export const markLook = ({ type, payload }: Outlined, note: string): MarkLook =>
  Object.hasOwn(LOOKS, type) && LOOKS[type] !== undefined
    ? LOOKS[type](payload, note)
    : { icon: "dot", tone: "none", name: type, more: words(payload.said) };
