// What of the log is content, and what is structure: the one place that says it. Content is what people, models and tools say: where a run is sealed, it is
// encrypted. Structure (ids, names, digests, numbers, who did something) stays readable for statements and for people with SQL. Paths lead through objects
// alone, never into a list: of a list all is content, or nothing. A path once sealed is opened wherever it stands, so taking one off this list loses nothing.
import type { Fact, RunEvent, TaskEvent } from "./events.ts";

export type EventType = (TaskEvent | RunEvent)["type"];

interface Fields {
  /** Sealed. */
  readonly content: readonly string[];
  /** Texts that stay in clear. Numbers, flags and words of a fixed list stay so too, and needn't be named. */
  readonly clear: readonly string[];
}

const OUTCOME = ["outcome.output", "outcome.error.message"];

/** Every event, and of each every text and every free value. A test holds this to the schemas. */
export const EVENT_FIELDS: Readonly<Record<EventType, Fields>> = {
  // both kinds of stream
  FactIgnored: { content: [], clear: ["reason"] },
  StreamInvalidated: { content: [], clear: ["reason", "retry.by", "fork"] },
  CutRequested: {
    content: ["instead.stands", "instead.fresh"],
    clear: ["reason", "calls", "instead.tasks", "instead.digest"],
  },
  CutDecided: { content: [], clear: ["by"] },
  // of a task
  TaskStarted: { content: [], clear: ["specDigest", "parts"] },
  LlmCallStarted: { content: [], clear: ["stepId", "requestDigest", "model"] },
  LlmCallCompleted: { content: ["response.content"], clear: ["stepId", "response.rawUsage", "response.servedBy"] },
  LlmCallAccepted: { content: [], clear: ["stepId", "ref"] },
  LlmCallFailed: { content: ["error.message"], clear: ["stepId"] },
  ToolCallStarted: { content: ["args"], clear: ["stepId", "toolUseId", "tool", "idempotencyKey"] },
  ToolCallCompleted: { content: ["result", "media"], clear: ["stepId", "toolUseId"] },
  ToolResultsElided: { content: [], clear: ["toolUseIds"] },
  ContextCompacted: { content: ["summary"], clear: [] },
  ApprovalRequested: { content: ["args"], clear: ["stepId", "toolUseId", "tool", "key"] },
  ApprovalResolved: { content: ["comment"], clear: ["key", "by"] },
  InputRequested: { content: ["text"], clear: [] },
  UserMessage: { content: ["text"], clear: [] },
  TaskCompleted: { content: ["result"], clear: [] },
  TaskFailed: { content: ["error.message"], clear: [] },
  TaskCancelled: { content: ["error.message"], clear: [] },
  // of a run
  RunCreated: { content: ["input"], clear: ["process", "parent.run"] },
  WavePlanned: { content: [], clear: ["digest", "name", "tasks"] },
  TaskSettled: { content: OUTCOME, clear: [] },
  WaveSettled: { content: [], clear: [] },
  TimerSet: { content: [], clear: ["digest"] },
  SignalAwaited: { content: [], clear: ["digest", "signal"] },
  SignalReceived: { content: ["value"], clear: ["signal"] },
  TimerFired: { content: [], clear: [] },
  StepStarted: { content: [], clear: ["digest", "name", "idempotencyKey"] },
  StepCompleted: { content: ["value"], clear: [] },
  StepFailed: { content: ["error.message"], clear: [] },
  ChildStarted: { content: ["input"], clear: ["digest", "process", "run"] },
  ChildEnded: { content: OUTCOME, clear: [] },
  OperationReopened: { content: [], clear: ["run"] },
  NowRead: { content: [], clear: ["digest"] },
  TasksGivenUp: { content: [], clear: ["tasks"] },
  RandomRead: { content: [], clear: ["digest"] },
  RunContinued: { content: ["input", "signals"], clear: ["process", "parent.run"] },
  RunCompleted: { content: ["output"], clear: [] },
  RunFailed: { content: ["error.message"], clear: [] },
  RunCancelled: { content: ["error.message"], clear: [] },
};

/** Every fact, likewise. */
export const FACT_FIELDS: Readonly<Record<Fact["kind"], Fields>> = {
  wave: { content: [], clear: [] },
  child: { content: [], clear: ["run"] },
  cancel: { content: ["reason"], clear: [] },
  decision: { content: ["comment"], clear: ["key", "by"] },
  cutDecision: { content: [], clear: ["by"] },
  message: { content: ["text"], clear: [] },
  signal: { content: ["value"], clear: ["signal"] },
  hold: { content: [], clear: [] },
  claim: { content: [], clear: [] },
};

/** Of an event's payload. Whatever a type is that isn't on the list, all of it is content: what is forgotten here is hidden, never shown. */
export const contentOfEvent = (type: string, payload: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.hasOwn(EVENT_FIELDS, type)
    ? EVENT_FIELDS[type as EventType].content
    : Object.keys(payload).filter((field) => typeof payload[field] === "string" || typeof payload[field] === "object");

export const contentOfFact = (kind: Fact["kind"]): readonly string[] => FACT_FIELDS[kind].content;

/** Of an error as runs keep it: its code is structure. */
export const CONTENT_OF_ERROR: readonly string[] = ["message"];
/** A text of white space alone says nothing, and statements that count what was said have to see that: such a text under this name stays as it is. */
export const BLANK_IN_CLEAR = "text";
