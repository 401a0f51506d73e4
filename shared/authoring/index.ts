// What an agent's author imports: `import { defineTool, defineWorkflow } from "toren"`.

export { TorenError } from "../core/errors.ts";
export type { Json } from "../core/json.ts";
export { type Part, type ToolParts, toolParts } from "../core/tool-parts.ts";
export {
  ChildFailed,
  type StepOptions,
  TaskFailed,
  type TaskOutcome,
  type TaskSpec,
  TimedOut,
  WaveFailed,
  type WaveOptions,
  type WaveResult,
  type WorkflowCtx,
  type WorkflowFn,
} from "../core/workflow/context.ts";
export type { FileInfo } from "../ports/files.ts";
export { defineRedaction, type FromOutside, type Redaction, redactTexts } from "./redaction.ts";
export { defineTool, type Tool, type ToolCtx, type ToolOptions, type ToolOutput } from "./tool.ts";
export { defineWorkflow } from "./workflow.ts";
