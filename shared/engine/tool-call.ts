// One tool call: arguments checked, handler run under its time-out, its result brought into the form that a replay will read. Whatever goes wrong
// in the author's code is a result for the model, never an exception here.
import { messageOf } from "../core/errors.ts";
import { type Json, jsonBytes, NotJson, toJson } from "../core/json.ts";
import { PAYLOAD_MAX_BYTES, TOOL_BACKOFF_MAX_MS } from "../core/limits.ts";
import type { MediaPart } from "../core/messages.ts";
import { SEEN_IMAGES } from "../core/messages.ts";
import { badArguments, resultTooLarge, toolFailed, toolTimedOut } from "../core/task/texts.ts";
import { isToolParts, partsOf, type ToolParts } from "../core/tool-parts.ts";
import { asAuthorsCode } from "../core/workflow/window.ts";
import type { AgentDefinition, ToolContext, ToolDefinition } from "../ports/agents.ts";
import { authorsSignal } from "./authors-signal.ts";
import type { EngineDeps } from "./deps.ts";
import { linkedTo } from "./linked-signal.ts";
import { redacted, redactedText } from "./redact.ts";
import { traceToolCall } from "./spans.ts";

export interface ToolResult {
  readonly result: Json;
  readonly isError: boolean;
  /** Files of the run that the model looks at; left out when none. */
  readonly media?: MediaPart[];
}

/** `again`: another try may end otherwise. A result that can't be kept would only repeat the effect (c12). */
interface Tried extends ToolResult {
  readonly again: boolean;
  /** What kind of error it is, for its span; left out: what the tool itself calls one. */
  readonly fault?: "exception" | "timeout" | "bad_result";
}

const error = (text: string, again: boolean, fault: NonNullable<Tried["fault"]>): Tried => ({
  result: text,
  isError: true,
  again,
  fault,
});

type ToolDeps = Pick<EngineDeps, "sleep"> & { readonly agent: Pick<AgentDefinition, "name" | "redact"> };

/** Null when the interrupt came first: nobody waits for the result any more. */
export async function callTool(
  deps: ToolDeps,
  tool: ToolDefinition,
  args: Json,
  ctx: Omit<ToolContext, "signal">,
  interrupt: AbortSignal,
): Promise<ToolResult | null> {
  const parsed = tool.parse(args);
  if (!parsed.ok) return { result: badArguments(parsed.message), isError: true };
  for (let attempt = 1; ; attempt++) {
    const tried = await traceToolCall(tool, ctx, attempt, () => runOnce(deps, tool, parsed.args, ctx, interrupt));
    if (tried === null) return null;
    const { again, fault: _, ...result } = tried;
    if (!again || attempt >= tool.retry.attempts) return result;
    await deps.sleep(Math.min(TOOL_BACKOFF_MAX_MS, tool.retry.backoffMs * 2 ** (attempt - 1)), interrupt);
    if (interrupt.aborted) return null;
  }
}

async function runOnce(
  deps: ToolDeps,
  tool: ToolDefinition,
  args: unknown,
  ctx: Omit<ToolContext, "signal">,
  interrupt: AbortSignal,
): Promise<Tried | null> {
  const over = linkedTo(interrupt);
  const what = `tool ${tool.name} of task ${ctx.taskId}, run ${ctx.runId}`;
  const signal = authorsSignal(what, over.signal);
  const keep = (value: unknown): Tried => recordable(value, deps.agent, tool.name);
  const uncaught = Promise.withResolvers<never>();
  const call = async (): Promise<Tried> => {
    const value = await tool.handler(args, { ...ctx, signal });
    return isToolParts(value) ? await shown(value, ctx.files, keep) : keep(value);
  };
  const running = asAuthorsCode(what, call, uncaught.reject);
  const timedOut = deps
    .sleep(tool.timeoutMs, over.signal)
    .then(() => (interrupt.aborted ? null : error(toolTimedOut(tool.timeoutMs), true, "timeout")));
  try {
    return await Promise.race([running, timedOut, uncaught.promise]);
  } catch (thrown) {
    if (interrupt.aborted) return null; // most likely the handler's own answer to its signal
    const said = redactedText(deps.agent, messageOf(thrown), { kind: "toolError", name: tool.name });
    return error(toolFailed(said.ok ? said.text : said.error.message), true, "exception");
  } finally {
    over.abort(); // ends the time-out's timer; a handler that goes on regardless is told once more
    running.catch(() => {});
    uncaught.promise.catch(() => {});
  }
}

/** Only what is attached to the run, and is what the author says it is. */
async function shown(value: ToolParts, files: ToolContext["files"], keep: (value: unknown) => Tried): Promise<Tried> {
  const { parts, isError } = partsOf(value);
  const text = keep(parts.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n"));
  if (text.isError) return text;
  const attached = parts.some((p) => p.type !== "text") ? await files.list() : [];
  const media: MediaPart[] = [];
  for (const part of parts) {
    if (part.type === "text") continue;
    const file = attached.find((f) => f.id === part.fileId);
    if (file === undefined)
      return error(toolFailed(`no file ${part.fileId} is attached to this run`), false, "bad_result");
    const { mediaType, name } = file;
    if (kindOf(mediaType) !== part.type)
      return error(toolFailed(`${name} is ${mediaType}, which can't be shown as ${part.type}`), false, "bad_result");
    media.push({ type: "media", kind: part.type, fileId: part.fileId, mediaType, name });
  }
  return { ...text, isError, ...(media.length === 0 ? {} : { media }) };
}

const kindOf = (mediaType: string): "image" | "pdf" | null => {
  if (mediaType === "application/pdf") return "pdf";
  return SEEN_IMAGES.has(mediaType) ? "image" : null;
};

function recordable(value: unknown, agent: ToolDeps["agent"], name: string): Tried {
  let result: Json;
  try {
    result = toJson(value);
  } catch (thrown) {
    if (thrown instanceof NotJson)
      return error(toolFailed(`its result is not JSON: ${thrown.message}`), false, "bad_result");
    throw thrown;
  }
  const kept = redacted(agent, result, { kind: "toolResult", name });
  if (!kept.ok) return error(toolFailed(kept.error.message), false, "bad_result");
  result = kept.value;
  const bytes = jsonBytes(result);
  if (bytes > PAYLOAD_MAX_BYTES) return error(resultTooLarge(bytes, PAYLOAD_MAX_BYTES), false, "bad_result");
  return { result, isError: false, again: false };
}
