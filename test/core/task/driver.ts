// Drives the task loop without an engine: `nextAction` decides, a tape of numbers answers for model, tools and fate, and what the engine would record
// is recorded. So logs of any shape come into being as they do in production: by today's code, event by event.
import type { TaskEvent } from "../../../shared/core/events.ts";
import { type Json, toJson } from "../../../shared/core/json.ts";
import type { AssistantPart, Message, ModelResponse, StopReason } from "../../../shared/core/messages.ts";
import { type Header, headerOf, type RoleText } from "../../../shared/core/task/header.ts";
import { normalise } from "../../../shared/core/task/history.ts";
import { NO_BUDGET } from "../../../shared/core/task/ledger.ts";
import { type Action, type Caps, nextAction } from "../../../shared/core/task/loop.ts";
import type { OutputCheck } from "../../../shared/core/task/output.ts";
import { replay } from "../../../shared/core/task/replay.ts";
import { apply, idempotencyKey } from "../../../shared/core/task/state.ts";
import { initialState, type TaskState } from "../../../shared/core/task/task-state.ts";

export type Recorded = TaskEvent & { readonly seq: number; readonly recordedAt: number };

/** Numbers that stand for what happens; past their end it is always the first choice. */
export interface Tape {
  pick(choices: number): number;
  readonly over: boolean;
}
export function tapeOf(numbers: readonly number[]): Tape {
  let at = 0;
  return {
    pick: (choices) => (numbers[at++] ?? 0) % choices,
    get over() {
      return at >= numbers.length;
    },
  };
}

export const role: RoleText = {
  model: "mock/script",
  system: "You work.",
  tools: [
    { name: "pay", description: "Pays.", inputSchema: { type: "object" } },
    { name: "look", description: "Looks.", inputSchema: { type: "object" } },
  ],
  options: { temperature: 0 },
  maxTokens: 100,
  outputSchema: null,
};
export const EFFECTS = {
  pay: { effects: "external", idempotency: "none" },
  look: { effects: "none", idempotency: "none" },
} as const;
export const CAPS: Caps = {
  maxSteps: 50,
  budget: NO_BUDGET,
  runBudget: NO_BUDGET,
  rates: null,
  contextWindow: null,
};
export const usage = { input: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0 };

/** A stream's writer, as far as a task sees it: the raw log, and the state that is folded as it grows. */
export interface Writer {
  readonly header: Header;
  readonly raw: Recorded[];
  readonly state: TaskState;
  record(event: TaskEvent): void;
}

export interface Task {
  readonly role: RoleText;
  readonly check: OutputCheck | null;
  readonly input: Json;
  readonly caps: Caps;
}
export const task: Task = { role, check: null, input: "Begin.", caps: CAPS };

export const recorded = (raw: Recorded[], event: TaskEvent): void => {
  const stored = toJson(event) as unknown as TaskEvent; // as it comes back from the database
  raw.push(Object.assign(stored, { seq: (raw.at(-1)?.seq ?? 0) + 1, recordedAt: 0 }));
};

/** Takes up a log as the engine does: replayed, cut where today's code asks something else, and announced. Null: it waits for a decision (I6b). */
export function takeUp({ role: of, check, input }: Task, raw: Recorded[]): Writer | null {
  const header = headerOf(of);
  let replayed = replay(header, check, input, raw);
  if (replayed.type === "mismatch") {
    const { fromSeq, reason, calls } = replayed;
    if (calls.length > 0) return null;
    recorded(raw, { type: "StreamInvalidated", fromSeq, reason, generation: 1 });
    replayed = replay(header, check, input, raw);
  }
  if (replayed.type === "mismatch") throw new Error(`a cut left a contradiction: ${replayed.reason}`);
  const { state } = replayed;
  return {
    header,
    raw,
    state,
    record: (event) => {
      recorded(raw, event);
      apply(state, event, raw.length);
    },
  };
}

export const started = (writer: Writer): void =>
  writer.record({
    type: "TaskStarted",
    attempt: writer.raw.filter((e) => e.type === "TaskStarted").length + 1,
    specDigest: writer.header.digest,
    parts: { ...writer.header.parts },
  });

const TEXTS = ["Done.", '{"n":1}', '{"n":"x"}', "", " \n ", "cut \uD83D", "nul \u0000", "```json\n{}\n```"];
const IDS = ["call_1", "call_1", "call_2", "not legal!", "", "x".repeat(70), "\uD83D"];
const NAMES = ["pay", "look", "look", "se arch", "", "ünknown", "y".repeat(80)];
const ARGS: readonly Json[] = [{}, { cents: 1 }, { q: "\uD83D", "k\uDE00": [null] }, null, "text", [1]];
const STOPS: readonly StopReason[] = ["end", "pause", "end", "maxTokens", "pause", "refusal", "contextExceeded"];
const RESULTS: readonly Json[] = ["ok", "", " ", null, { rows: [1, "\uDE00"] }, "x\uD83D", 0, "long ".repeat(300)];

/** Any answer that an adapter could give; tool calls more often than not. */
export function anyAnswer(tape: Tape): ModelResponse {
  const content: AssistantPart[] = [];
  if (tape.pick(6) === 5) content.push({ type: "opaque", provider: "p", data: { signature: "s\uD83D" } });
  if (tape.pick(2) === 0) content.push({ type: "text", text: TEXTS[tape.pick(TEXTS.length)] as string });
  const calls = [1, 1, 0, 2, 3, 1, 1][tape.pick(7)] as number;
  for (let i = 0; i < calls; i++) {
    const args = ARGS[tape.pick(ARGS.length)] as Json;
    const id = IDS[tape.pick(IDS.length)] as string;
    const name = NAMES[tape.pick(NAMES.length)] as string;
    content.push({ type: "toolUse", id, name, args, ...(tape.pick(8) === 7 ? { malformed: "{" } : {}) });
  }
  const stop = STOPS[tape.pick(STOPS.length)] as StopReason;
  return { content, stopReason: calls > 0 && tape.pick(4) > 0 ? "toolUse" : stop, usage };
}

/** One turn of the loop, as engine/run-task.ts takes it. False: the task has ended. */
export function turn(writer: Writer, caps: Caps, tape: Tape, answer = anyAnswer): boolean {
  const action = nextAction(writer.state, caps);
  switch (action.type) {
    case "ask":
      ask(writer, action, tape, answer);
      return true;
    case "tools":
      tools(writer, action, tape);
      return true;
    case "complete":
      writer.record({ type: "TaskCompleted", result: action.result });
      return false;
    case "record":
      writer.record(action.event);
      return true;
    case "show":
    case "wait":
      throw new Error("a task that is no session neither shows nor waits");
    case "fail":
      writer.record({ type: "TaskFailed", error: action.error });
      return false;
    case "ended":
      return false;
  }
}

function ask(writer: Writer, action: Action & { type: "ask" }, tape: Tape, answer: typeof anyAnswer): void {
  const { stepId, digest, purpose } = action;
  writer.record({ type: "LlmCallStarted", stepId, requestDigest: digest, model: "mock/script", purpose });
  const fate = tape.pick(12);
  if (fate === 11) return; // the worker dies with the question open
  if (fate === 10) {
    writer.record({ type: "LlmCallFailed", stepId, error: { code: "model.unavailable", message: "429" } });
    return;
  }
  const { usage: spent, ...response } = normalise(answer(tape), writer.state.usedIds);
  writer.record({ type: "LlmCallCompleted", stepId, response, usage: spent });
}

function tools(writer: Writer, { stepId, calls }: Action & { type: "tools" }, tape: Tape): void {
  for (const { use, started: before, cut } of calls) {
    const known = use.name === "pay" || use.name === "look" ? EFFECTS[use.name] : undefined;
    if (known === undefined || cut || use.malformed !== undefined)
      writer.record({ type: "ToolCallCompleted", stepId, toolUseId: use.id, result: "refused", isError: true });
    else if (before === null) {
      const key = idempotencyKey("r", "w0t0", writer.state, use.name, use.args);
      const call = { toolUseId: use.id, tool: use.name, args: use.args, idempotencyKey: key, ...known };
      writer.record({ type: "ToolCallStarted", stepId, ...call });
    }
  }
  const left = calls.filter((call) => call.completed === null && call.started !== null);
  while (left.length > 0) {
    const [call] = left.splice(tape.pick(left.length), 1); // results come in any order
    if (tape.pick(10) === 9) return; // the worker dies in the middle of it
    const result = RESULTS[tape.pick(RESULTS.length)] as Json;
    if (call !== undefined)
      writer.record({ type: "ToolCallCompleted", stepId, toolUseId: call.use.id, result, isError: tape.pick(5) === 0 });
  }
}

/** A log of up to `turns` turns, with take-overs where the tape says so. */
export function drive(of: Task, numbers: readonly number[], turns = 30): Writer {
  const tape = tapeOf(numbers);
  let writer = begin(of);
  let inboxSeq = 0;
  started(writer);
  for (let n = 0; n < turns && !tape.over && turn(writer, of.caps, tape); n++) {
    if (tape.pick(8) === 7) writer.record({ type: "FactIgnored", inboxSeq: ++inboxSeq, reason: "concerns no task" });
    if (tape.pick(6) !== 5) continue;
    const next = takeUp(of, writer.raw);
    if (next === null) throw new Error("the same code would cut its own log");
    writer = next;
    started(writer);
  }
  return writer;
}

export function begin({ role: of, check, input }: Task): Writer {
  const header = headerOf(of);
  const state = initialState(header, check, input);
  const raw: Recorded[] = [];
  return {
    header,
    raw,
    state,
    record: (event) => {
      recorded(raw, event);
      apply(state, event, raw.length);
    },
  };
}

/** What of a state decides anything, in a form that can be compared. `usedIds` and `attempts` are apart: they remember what was cut. */
export const comparable = ({ history, phase, steps, pauses, usage: spent, callCounts }: TaskState): unknown => ({
  history,
  phase,
  steps,
  pauses,
  spent,
  callCounts: [...callCounts].sort(),
});

const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;

/** What no provider takes: a list of what is wrong with the messages of a request, empty when they are legal. */
export function illegal(messages: readonly Message[]): string[] {
  const wrong: string[] = [];
  const ids = new Set<string>();
  for (const [i, { role: who, content }] of messages.entries()) {
    const at = (what: string) => wrong.push(`message ${i}: ${what}`);
    if (who !== "user" && i === 0) at("the first is not the user's");
    if (messages[i - 1]?.role === who) at("two of one role in a row");
    if (content.length === 0) at("empty");
    const before = messages[i - 1]?.role === "assistant" ? messages[i - 1] : undefined;
    const open = (before?.content ?? []).flatMap((p) => (p.type === "toolUse" ? [p.id] : []));
    const results = content.flatMap((p) => (p.type === "toolResult" ? [p.toolUseId] : []));
    if (results.join() !== open.join()) at(`results ${results} for calls ${open}`);
    if (content.slice(0, results.length).some((p) => p.type !== "toolResult")) at("results are not first");
    for (const part of content) {
      if (part.type === "text" && part.text.trim() === "") at("an empty text");
      if (part.type === "toolResult" && part.text.trim() === "") at("an empty result");
      if ((part.type === "text" || part.type === "toolResult") && !part.text.isWellFormed()) at("a lone surrogate");
      if (part.type !== "toolUse") continue;
      if (!LEGAL.test(part.id)) at(`id ${JSON.stringify(part.id)}`);
      if (!LEGAL.test(part.name)) at(`name ${JSON.stringify(part.name)}`);
      if (ids.has(part.id)) at(`id ${part.id} again`);
      ids.add(part.id);
      if (part.args === null || typeof part.args !== "object" || Array.isArray(part.args)) at("arguments: no object");
      if (/\\ud[89a-f]../.test(JSON.stringify(part.args))) at("arguments: a lone surrogate");
    }
  }
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.content.some((p) => p.type === "toolUse")) wrong.push("an open call");
  return wrong;
}
