// A run as lines: waves, their tasks, and of each task what happened in it. Pure: from the run's tree and streams in outline to lines with depth, times and looks.
import type { RunJson, TaskJson } from "../../shared/http/run-json.ts";
import { markLook, words } from "./event-looks.ts";
import type { IconName } from "./icons.ts";
import { lookOfTask, type Tone } from "./status.ts";
import { itemsOf, type Outlined, SILENT, type Step, type ToolUse } from "./steps.ts";
import { brief } from "./text.ts";

export interface Line {
  /** Stable while the run grows: what is selected stays selected. */
  readonly id: string;
  readonly depth: number;
  readonly icon: IconName;
  readonly tone: Tone;
  readonly name: string;
  /** What it is about, in a few words. */
  readonly more: string;
  /** Milliseconds since 1970; null: it has no length. */
  readonly from: number | null;
  /** Null: it goes on. */
  readonly to: number | null;
  readonly cut: boolean;
  /** Lines below it can be shown; null: it has none. */
  readonly open: boolean | null;
  readonly what: Subject;
}

/** What stands behind a line, for whoever looks at it closely. */
export type Subject =
  | { readonly kind: "wave"; readonly wave: number }
  | { readonly kind: "task"; readonly taskId: string }
  | { readonly kind: "call"; readonly stream: string; readonly step: Step }
  | { readonly kind: "tool"; readonly stream: string; readonly tool: ToolUse }
  | { readonly kind: "event"; readonly stream: string; readonly event: Outlined };

const at = (event: Outlined): number => Date.parse(event.recordedAt);

function stepLine(stream: string, step: Step, depth: number): Line {
  const { end, asked } = step;
  const failed = end?.type === "LlmCallFailed";
  const unanswered = step.lost && end === null;
  const tone: Tone = step.cut
    ? "none"
    : failed || unanswered
      ? "bad"
      : end === null
        ? "busy"
        : step.replayed > 0
          ? "replay"
          : "call";
  const error = end?.payload.error as { code?: string; message?: string } | undefined;
  const said = typeof end?.payload.said === "string" ? end.payload.said : "";
  const more = failed
    ? `${error?.code ?? "failed"}: ${error?.message ?? ""}`
    : unanswered
      ? "no answer was recorded: its worker died"
      : end === null
        ? "asking…"
        : said !== ""
          ? said
          : end.payload.stopReason === "toolUse"
            ? "calls tools"
            : "";
  return {
    id: `${stream}:${step.seq}`,
    depth,
    icon: failed || unanswered ? "warn" : step.purpose === "summary" ? "fold" : step.replayed > 0 ? "replay" : "spark",
    tone,
    name: step.purpose === "summary" ? `summary ${step.stepId}` : `model ${step.stepId}`,
    more: brief(more, 140),
    from: at(asked),
    to: end === null ? (step.lost || step.cut ? at(asked) : null) : at(end),
    cut: step.cut,
    open: null,
    what: { kind: "call", stream, step },
  };
}

function toolLine(stream: string, tool: ToolUse, depth: number): Line {
  const { end, started } = tool;
  const failed = end?.payload.isError === true;
  const said = end?.payload.said ?? started.payload.said;
  return {
    id: `${stream}:${tool.seq}`,
    depth: depth + 1,
    icon: failed ? "warn" : "tool",
    tone: tool.cut ? "none" : failed ? "bad" : end === null ? "busy" : "tool",
    name: brief(tool.tool, 60),
    more: brief(String(started.payload.said ?? said ?? ""), 140),
    from: at(started),
    to: end === null ? (tool.cut ? at(started) : null) : at(end),
    cut: tool.cut,
    open: null,
    what: { kind: "tool", stream, tool },
  };
}

function markLine(stream: string, event: Outlined, note: string, cut: boolean, depth: number, to: number | null): Line {
  const look = markLook(event, note);
  return {
    id: `${stream}:${event.seq}`,
    depth,
    icon: look.icon,
    tone: cut ? "none" : look.tone,
    name: brief(look.name, 80),
    more: brief(look.more ?? "", 140),
    from: to === null ? null : at(event),
    to,
    cut,
    open: null,
    what: { kind: "event", stream, event },
  };
}

/** What the lines of one task are. */
export const taskLines = (taskId: string, events: readonly Outlined[], depth: number): Line[] => {
  const stream = `task:${taskId}`;
  return itemsOf(events).map((item) => {
    if (item.type === "step") return stepLine(stream, item.step, depth);
    if (item.type === "tool") return toolLine(stream, item.tool, depth);
    return markLine(stream, item.event, item.note, item.cut, depth, item.end === null ? null : at(item.end));
  });
};

export interface TimelineInput {
  readonly run: RunJson;
  /** Of the run's own stream. */
  readonly own: readonly Outlined[];
  /** Of tasks that are open, by id; one that isn't here is still being read. */
  readonly tasks: ReadonlyMap<string, readonly Outlined[]>;
  readonly isOpen: (id: string) => boolean;
}

/** The whole run. Waves stand where they were planned, between what else the workflow did. */
export function timelineOf({ run, own, tasks, isOpen }: TimelineInput): Line[] {
  const lines: Line[] = [];
  const placed = new Set<number>();
  const ends = endsOf(own);
  for (const event of own) {
    if (event.type === "WavePlanned") {
      const wave = run.waves.find((w) => w.wave === Number(event.payload.wave));
      if (wave === undefined || placed.has(wave.wave)) continue;
      placed.add(wave.wave);
      addWave(lines, wave, words(event.payload.name), tasks, isOpen);
    } else if (!SILENT.has(event.type)) {
      const end = ends.get(event.seq);
      lines.push(
        markLine(
          "run",
          event,
          "",
          false,
          0,
          event.type === "TimerSet" || event.type === "StepStarted" ? (end ?? null) : null,
        ),
      );
    }
  }
  const late = run.waves.filter((wave) => !placed.has(wave.wave));
  const rest: Line[] = [];
  for (const wave of late) addWave(rest, wave, wave.wave < 0 ? "not in the plan" : "", tasks, isOpen);
  return own.length === 0
    ? [...rest, ...lines]
    : [...lines.filter((l) => !isLast(l)), ...rest, ...lines.filter(isLast)];
}

const isLast = (line: Line): boolean =>
  line.what.kind === "event" && ["RunCompleted", "RunFailed", "RunCancelled"].includes(line.what.event.type);

/** When operations of the workflow ended, by their seq. */
function endsOf(own: readonly Outlined[]): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  for (const event of own) {
    const op = event.payload.op;
    if (typeof op === "number" && event.type !== "StepFailed") ends.set(op, at(event));
  }
  return ends;
}

type Wave = RunJson["waves"][number];

function addWave(
  lines: Line[],
  wave: Wave,
  name: string,
  outlines: ReadonlyMap<string, readonly Outlined[]>,
  isOpen: (id: string) => boolean,
): void {
  const [only] = wave.tasks;
  if (wave.tasks.length === 1 && only !== undefined) {
    addTask(lines, only, name === "" || name === only.role ? "" : name, 0, outlines, isOpen);
    return;
  }
  const id = `wave:${wave.wave}`;
  const ended = wave.tasks.filter((task) => task.status === "ended").length;
  const failed = wave.tasks.filter((task) => task.outcome === "failed").length;
  const starts = wave.tasks.flatMap((task) => (task.startedAt === null ? [] : [Date.parse(task.startedAt)]));
  const ends = wave.tasks.flatMap((task) => (task.endedAt === null ? [] : [Date.parse(task.endedAt)]));
  const over = ended === wave.tasks.length;
  lines.push({
    id,
    depth: 0,
    icon: "layers",
    tone: failed > 0 ? "bad" : over ? "done" : "busy",
    name: name === "" ? `wave ${wave.wave}` : brief(name, 60),
    more: `${ended} of ${wave.tasks.length} tasks ended${failed > 0 ? `, ${failed} failed` : ""}`,
    from: starts.length === 0 ? null : starts.reduce((a, b) => Math.min(a, b)),
    to: over && ends.length > 0 ? ends.reduce((a, b) => Math.max(a, b)) : null,
    cut: false,
    open: isOpen(id),
    what: { kind: "wave", wave: wave.wave },
  });
  if (isOpen(id)) for (const task of wave.tasks) addTask(lines, task, "", 1, outlines, isOpen);
}

function addTask(
  lines: Line[],
  task: TaskJson,
  name: string,
  depth: number,
  outlines: ReadonlyMap<string, readonly Outlined[]>,
  isOpen: (id: string) => boolean,
): void {
  const id = `task:${task.taskId}`;
  const look = lookOfTask(task);
  const open = isOpen(id);
  lines.push({
    id,
    depth,
    icon: look.icon,
    tone: look.tone,
    name: brief([name, task.role ?? task.taskId].filter((t) => t !== "").join(" · "), 60),
    more: task.outcome === "completed" ? task.taskId : `${task.taskId} · ${look.word.toLowerCase()}`,
    from: task.startedAt === null ? null : Date.parse(task.startedAt),
    to: task.endedAt === null ? null : Date.parse(task.endedAt),
    cut: false,
    open,
    what: { kind: "task", taskId: task.taskId },
  });
  const events = outlines.get(task.taskId);
  if (open && events !== undefined) lines.push(...taskLines(task.taskId, events, depth + 1));
}

/** Where a line's bar lies in the run's time, in percent. `now` stands for what goes on. */
export function barOf(line: Line, from: number, to: number, now: number): { left: number; width: number } | null {
  if (line.from === null) return null;
  const whole = Math.max(1, to - from);
  const left = Math.min(100, Math.max(0, ((line.from - from) / whole) * 100));
  const end = Math.min(100, (((line.to ?? now) - from) / whole) * 100);
  return { left, width: Math.max(0, end - left) };
}
