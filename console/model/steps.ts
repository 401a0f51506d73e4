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
  | { readonly type: "mark"; readonly event: Outlined; readonly note: string; cut: boolean };

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
  let open: Step | null = null;
  for (const event of events) {
    const { type, payload, seq } = event;
    if (type === "LlmCallStarted") {
      if (open !== null) open.lost = true;
      open = {
        seq,
        stepId: String(payload.stepId),
        model: String(payload.model),
        purpose: String(payload.purpose),
        asked: event,
        end: null,
        lost: false,
        cut: false,
        replayed: 0,
      };
      items.push({ type: "step", step: open });
    } else if ((type === "LlmCallCompleted" || type === "LlmCallFailed") && open !== null) {
      open.end = event;
      open = null;
    } else if (type === "ToolCallStarted") {
      const tool = {
        seq,
        toolUseId: String(payload.toolUseId),
        tool: String(payload.tool),
        started: event,
        end: null,
        cut: false,
      };
      tools.set(tool.toolUseId, tool);
      items.push({ type: "tool", tool });
    } else if (type === "ToolCallCompleted") {
      const tool = tools.get(String(payload.toolUseId));
      if (tool === undefined) items.push({ type: "mark", event, note: "", cut: false });
      else tool.end = event;
    } else if (type === "TaskStarted") {
      if (Number(payload.attempt) > 1) items.push({ type: "mark", event, note: `${replay(items)}`, cut: false });
    } else if (type === "StreamInvalidated") {
      cutFrom(items, Number(payload.fromSeq));
      open = null;
      items.push({ type: "mark", event, note: "", cut: false });
    } else if (!SILENT.has(type)) items.push({ type: "mark", event, note: "", cut: false });
  }
  return items;
}

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
