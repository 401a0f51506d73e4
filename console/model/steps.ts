// What happened in a task, from its stream in outline: questions with their answers, calls of tools with their results, and what lies between.
import type { OutlinePage } from "../../shared/http/inspect.ts";

export type Outlined = OutlinePage["events"][number];

/** A question to a model, and what became of it. */
export interface Step {
  readonly seq: number;
  readonly stepId: string;
  readonly model: string;
  readonly purpose: string;
  readonly asked: Outlined;
  end: Outlined | null;
  /** The next thing happened without an answer: its worker died. */
  lost: boolean;
  cut: boolean;
  /** How often a worker that took over used the answer again. */
  replayed: number;
}

export interface ToolUse {
  readonly seq: number;
  readonly toolUseId: string;
  readonly tool: string;
  readonly started: Outlined;
  end: Outlined | null;
  cut: boolean;
}

export type Item =
  | { readonly type: "step"; readonly step: Step }
  | { readonly type: "tool"; readonly tool: ToolUse }
  | Mark;

/** An event with a line of its own; `end`: what it waited for has come. */
export interface Mark {
  readonly type: "mark";
  readonly event: Outlined;
  readonly note: string;
  end: Outlined | null;
  cut: boolean;
}

/** Events that are read with others, and have no line of their own. */
export const SILENT: ReadonlySet<string> = new Set([
  "LlmCallAccepted",
  "TaskSettled",
  "WaveSettled",
  "TimerFired",
  "StepCompleted",
  "RunCreated",
]);

/** What happened in a task, in order; what was cut stays, and says so. */
export function itemsOf(events: readonly Outlined[]): Item[] {
  const items: Item[] = [];
  const tools = new Map<string, ToolUse>();
  const waits = new Map<string, Mark>();
  let open: Step | null = null;
  const mark = (event: Outlined, note = ""): Mark => {
    const made: Mark = { type: "mark", event, note, end: null, cut: false };
    items.push(made);
    return made;
  };
  for (const event of events) {
    const { type, payload } = event;
    const ends = waits.get(endOf(event));
    if (ends !== undefined) ends.end ??= event;
    if (type === "LlmCallStarted") {
      if (open !== null) open.lost = true;
      open = stepOf(event);
      items.push({ type: "step", step: open });
    } else if ((type === "LlmCallCompleted" || type === "LlmCallFailed") && open !== null) {
      open.end = event;
      open = null;
    } else if (type === "ToolCallStarted") {
      const tool = toolOf(event);
      tools.set(tool.toolUseId, tool);
      items.push({ type: "tool", tool });
    } else if (type === "ToolCallCompleted") {
      const tool = tools.get(String(payload.toolUseId));
      if (tool === undefined) mark(event);
      else tool.end = event;
    } else if (type === "TaskStarted") {
      if (Number(payload.attempt) > 1) mark(event, String(replay(items)));
    } else if (type === "StreamInvalidated") {
      cutFrom(items, Number(payload.fromSeq));
      open = null;
      mark(event);
    } else if (type === "ApprovalRequested") waits.set(`approval ${payload.key}`, mark(event));
    else if (type === "InputRequested") waits.set("user", mark(event));
    else if (!SILENT.has(type)) mark(event);
  }
  return items;
}

/** What comes to an end with an event: a question to a person, or the wait for one. */
const endOf = ({ type, payload }: Outlined): string =>
  type === "ApprovalResolved" ? `approval ${payload.key}` : type === "UserMessage" ? "user" : "";

const stepOf = (asked: Outlined): Step => ({
  seq: asked.seq,
  stepId: String(asked.payload.stepId),
  model: String(asked.payload.model),
  purpose: String(asked.payload.purpose),
  asked,
  end: null,
  lost: false,
  cut: false,
  replayed: 0,
});

const toolOf = (started: Outlined): ToolUse => ({
  seq: started.seq,
  toolUseId: String(started.payload.toolUseId),
  tool: String(started.payload.tool),
  started,
  end: null,
  cut: false,
});

/** Counts the recorded answers that a worker used again when it took over. */
function replay(items: readonly Item[]): number {
  let replayed = 0;
  for (const item of items)
    if (item.type === "step" && !item.step.cut && item.step.end?.type === "LlmCallCompleted") {
      item.step.replayed++;
      replayed++;
    }
  return replayed;
}

/** Facts from outside survive a cut. */
function cutFrom(items: readonly Item[], fromSeq: number): void {
  for (const item of items) {
    if (item.type === "step" && item.step.seq >= fromSeq) item.step.cut = true;
    if (item.type === "tool" && item.tool.seq >= fromSeq) item.tool.cut = true;
    if (item.type === "mark" && item.event.seq >= fromSeq && item.event.payload.inboxSeq === undefined) item.cut = true;
  }
}
