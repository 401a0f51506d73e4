// One tool call: arguments checked, handler run under its time-out, its result brought into the form that a replay will read. Whatever goes wrong
// in the author's code is a result for the model, never an exception here.
import { messageOf } from "../core/errors.ts";
import { type Json, jsonBytes, NotJson, toJson } from "../core/json.ts";
import { PAYLOAD_MAX_BYTES, TOOL_BACKOFF_MAX_MS } from "../core/limits.ts";
import { badArguments, resultTooLarge, toolFailed, toolTimedOut } from "../core/task/texts.ts";
import { asAuthorsCode } from "../core/workflow/window.ts";
import type { ToolContext, ToolDefinition } from "../ports/agents.ts";
import { authorsSignal } from "./authors-signal.ts";
import type { EngineDeps } from "./deps.ts";
import { linkedTo } from "./linked-signal.ts";

export interface ToolResult {
  readonly result: Json;
  readonly isError: boolean;
}

/** `again`: another try may end otherwise. A result that can't be kept would only repeat the effect (c12). */
interface Tried extends ToolResult {
  readonly again: boolean;
}

const error = (text: string, again: boolean): Tried => ({ result: text, isError: true, again });

type ToolDeps = Pick<EngineDeps, "sleep">;

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
    const tried = await runOnce(deps, tool, parsed.args, ctx, interrupt);
    if (tried === null) return null;
    if (!tried.again || attempt >= tool.retry.attempts) return { result: tried.result, isError: tried.isError };
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
  const running = asAuthorsCode(what, async () => recordable(await tool.handler(args, { ...ctx, signal })));
  const timedOut = deps
    .sleep(tool.timeoutMs, over.signal)
    .then(() => (interrupt.aborted ? null : error(toolTimedOut(tool.timeoutMs), true)));
  try {
    return await Promise.race([running, timedOut]);
  } catch (thrown) {
    if (interrupt.aborted) return null; // most likely the handler's own answer to its signal
    return error(toolFailed(messageOf(thrown)), true);
  } finally {
    over.abort(); // ends the time-out's timer; a handler that goes on regardless is told once more
    running.catch(() => {});
  }
}

function recordable(value: unknown): Tried {
  let result: Json;
  try {
    result = toJson(value);
  } catch (thrown) {
    if (thrown instanceof NotJson) return error(toolFailed(`its result is not JSON: ${thrown.message}`), false);
    throw thrown;
  }
  const bytes = jsonBytes(result);
  if (bytes > PAYLOAD_MAX_BYTES) return error(resultTooLarge(bytes, PAYLOAD_MAX_BYTES), false);
  return { result, isError: false, again: false };
}
