// One event of a run's log as one line: when, which stream, what happened, and the little that tells it from its like.
import type { Json, JsonObject } from "../../shared/core/json.ts";
import { totalTokens, type Usage } from "../../shared/core/messages.ts";
import type { PageEvent } from "../../shared/http/events-page.ts";
import type { Style } from "./style.ts";
import { cut, oneLine } from "./terminal.ts";
import { grouped } from "./units.ts";

export const STREAM_COLUMNS = 8;
export const streamName = (stream: string): string => stream.replace(/^task:/, "");
const TYPE_COLUMNS = 19;
const TEXT_COLUMNS = 100;

/** `columns`: of the terminal, which no line passes; null: whole. */
export function eventLine(event: PageEvent, style: Style, columns: number | null): string {
  const time = event.recordedAt.slice(11, 23);
  const stream = streamName(event.stream).padEnd(STREAM_COLUMNS);
  const type = event.type.padEnd(TYPE_COLUMNS);
  const whole = detailOf(event.type, event.payload as JsonObject);
  const room = columns === null ? whole.length : Math.max(10, columns - time.length - stream.length - type.length - 4);
  const detail = cut(whole, room);
  return `${style.dim(time)}  ${style.cyan(stream)} ${paintOf(event.type, style)(type)} ${detail}`.trimEnd();
}

function paintOf(type: string, style: Style): (text: string) => string {
  if (type.endsWith("Failed")) return style.red;
  if (/^(StreamInvalidated|CutRequested|ApprovalRequested|\w+Cancelled)$/.test(type)) return style.yellow;
  return /^(Run|Task|Wave)(Completed|Settled)$/.test(type) ? style.green : (text) => text;
}

function detailOf(type: string, p: JsonObject): string {
  switch (type) {
    case "RunCreated":
      return `${text(p.process)} ${quoted(p.input)}`;
    case "RunContinued":
      return `part ${text(p.part)} ${quoted(p.input)}`;
    case "WavePlanned":
      return `${text(p.name)}: ${(p.tasks as readonly Json[] | undefined)?.map(text).join(" ") ?? "many tasks"}`;
    case "TaskStarted":
      return p.attempt === 1 ? "" : `attempt ${text(p.attempt)}`;
    case "LlmCallStarted":
      return `${text(p.stepId)} ${text(p.model)}${p.purpose === "summary" ? " (a summary)" : ""}`;
    case "LlmCallCompleted":
      return `${text(p.stepId)} ${p.usage ? `${grouped(totalTokens(p.usage as Usage))} tokens` : ""} ${said(p.response)}`;
    case "LlmCallAccepted":
      return text(p.ref);
    case "ToolResultsElided":
      return (p.toolUseIds as readonly Json[] | undefined)?.map(text).join(" ") ?? "";
    case "ContextCompacted":
      return `${text(p.folded)} messages: ${quoted(p.summary)}`;
    case "ToolCallStarted":
      return `${text(p.tool)} ${quoted(p.args)}`;
    case "ToolCallCompleted":
      return `${p.isError === true ? "error " : ""}${quoted(p.result)}`;
    case "TaskCompleted":
      return quoted(p.result);
    case "RunCompleted":
      return quoted(p.output);
    case "TaskSettled":
      return `${text(p.op)}/${text(p.task)} ${text((p.outcome as JsonObject | undefined)?.status)}`;
    case "StreamInvalidated":
    case "CutRequested":
      return `from ${text(p.fromSeq)}: ${text(p.reason)}`;
    case "ApprovalRequested":
      return `${text(p.tool)} ${quoted(p.args)}`;
    case "ApprovalResolved":
      return `${p.granted === true ? "granted" : "denied"} by ${text(p.by)} ${text(p.comment)}`;
    case "CutDecided":
      return `${text(p.decision)} by ${text(p.by)}`;
    case "InputRequested":
      return quoted(p.text);
    case "UserMessage":
      return `${quoted(p.text)}${p.steer === true ? " (steers)" : ""}${p.close === true ? " (closes)" : ""}`;
    case "FactIgnored":
      return text(p.reason);
    case "TasksGivenUp":
      return (p.tasks as readonly Json[] | undefined)?.map(text).join(" ") ?? "many tasks";
    case "StepStarted":
      return text(p.name);
    case "ChildStarted":
      return `${text(p.process)} ${text(p.run)} ${quoted(p.input)}`;
    case "ChildEnded":
      return `${text(p.op)} ${text((p.outcome as JsonObject | undefined)?.status)}`;
    case "SignalAwaited":
      return `${text(p.signal)}${typeof p.dueAt === "number" ? ` until ${new Date(p.dueAt).toISOString()}` : ""}`;
    case "SignalReceived":
      return `${text(p.signal)} ${quoted(p.value)}`;
    case "TimerSet":
      return typeof p.dueAt === "number" ? `due ${new Date(p.dueAt).toISOString()}` : "";
    default:
      return errorOf(p.error);
  }
}

const text = (value: Json | undefined): string =>
  value === undefined ? "" : oneLine(typeof value === "string" ? value : JSON.stringify(value));
/** Absent: left out for its size. */
const quoted = (value: Json | undefined): string => (value === undefined ? "…" : cut(text(value), TEXT_COLUMNS));

function said(response: Json | undefined): string {
  if (response === undefined) return "…";
  const parts = ((response as JsonObject).content ?? []) as readonly JsonObject[];
  const shown = parts.map((part) =>
    part.type === "toolUse" ? `→ ${text(part.name)}` : part.type === "text" ? text(part.text) : "",
  );
  return cut(shown.filter((s) => s !== "").join(" "), TEXT_COLUMNS);
}

function errorOf(error: Json | undefined): string {
  const { code, message } = (error ?? {}) as JsonObject;
  return code === undefined ? "" : `${text(code)}: ${cut(text(message), 2 * TEXT_COLUMNS)}`;
}
