// Running the tools that an answer called for (asking the model: ask-step.ts). Answers null to go on with the loop.
import type { ErrorInfo } from "../core/errors.ts";
import { isUnrepeatable } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import { TOOL_CALLS_PER_ANSWER_MAX } from "../core/limits.ts";
import type { Action } from "../core/task/loop.ts";
import type { Call } from "../core/task/phase.ts";
import { idempotencyKey } from "../core/task/state.ts";
import {
  badArguments,
  callDenied,
  callWasCut,
  malformedArguments,
  outcomeUnknown,
  tooManyCalls,
  unknownTool,
} from "../core/task/texts.ts";
import type { ToolDefinition } from "../ports/agents.ts";
import type { Worked } from "./deps.ts";
import { toolFiles } from "./file-texts.ts";
import { approvalOf, outcomeOf, waitForApproval } from "./task-approvals.ts";
import type { TaskWork } from "./task-work.ts";
import { callTool } from "./tool-call.ts";

interface Running {
  readonly call: Call;
  readonly tool: ToolDefinition;
  readonly idempotencyKey: string;
}

export async function toolStep(work: TaskWork, action: Action & { type: "tools" }): Promise<Worked | null> {
  const { writer } = work;
  const { stepId } = action;
  const failure = unknownOutcome(work, action.calls); // before anything is recorded that would begin
  if (failure !== null) return await work.fail(failure);
  const running: Running[] = [];
  const waiting: Call[] = [];
  const answer = (call: Call, text: string): void =>
    work.record({ type: "ToolCallCompleted", stepId, toolUseId: call.use.id, result: text, isError: true });
  for (const call of action.calls) {
    const checked = checkCall(work, call);
    if ("refused" in checked) answer(call, checked.refused);
    else if (call.started !== null) {
      const { tool } = checked;
      const { idempotencyKey: key } = call.started;
      const again = await outcomeOf(work, stepId, call);
      if (again?.type === "waiting") waiting.push(call);
      else if (again?.type === "denied") answer(call, outcomeUnknown(again.by, again.comment));
      else
        running.push({ call, tool, idempotencyKey: again === null ? key : startCall(work, stepId, call, tool, key) });
    } else {
      const approval = await approvalOf(work, stepId, call, checked);
      if (approval.type === "waiting") waiting.push(call);
      else if (approval.type === "denied") answer(call, callDenied(approval.by, approval.comment));
      else running.push({ call, tool: checked.tool, idempotencyKey: startCall(work, stepId, call, checked.tool) });
    }
  }
  if (running.length === 0) return waiting.length === 0 ? null : await waitForApproval(work, waiting);
  await writer.flush(); // the answer, what is asked of people, and its calls' starts: one append (I4)
  await runAll(work, stepId, running);
  return null;
}

/** What keeps a call from being run: its answer is an error for the model, and no ToolCallStarted stands before it. */
function checkCall(
  work: TaskWork,
  call: Call,
): { readonly refused: string } | { readonly tool: ToolDefinition; readonly args: unknown } {
  const { use } = call;
  const tool = work.role.tools.find((t) => t.name === use.name);
  if (call.place >= TOOL_CALLS_PER_ANSWER_MAX) return { refused: tooManyCalls(TOOL_CALLS_PER_ANSWER_MAX) };
  if (call.cut) return { refused: callWasCut() };
  if (use.malformed !== undefined) return { refused: malformedArguments() };
  if (tool === undefined)
    return {
      refused: unknownTool(
        use.name,
        work.role.tools.map((t) => t.name),
      ),
    };
  const parsed = tool.parse(use.args);
  return parsed.ok ? { tool, args: parsed.args } : { refused: badArguments(parsed.message) };
}

/** `begun`: its key, when it begins again. */
function startCall(work: TaskWork, stepId: string, call: Call, tool: ToolDefinition, begun?: string): string {
  const { use } = call;
  const key = begun ?? idempotencyKey(work.hint.runId, work.hint.taskId, work.state, use.name, use.args);
  const { effects, idempotency } = tool;
  work.record({
    type: "ToolCallStarted",
    stepId,
    toolUseId: use.id,
    tool: use.name,
    args: use.args,
    idempotencyKey: key,
    effects,
    idempotency,
  });
  return key;
}

/** The worker died in the middle of one of the calls (c3), and the role would rather fail than risk to do it twice. */
function unknownOutcome({ role }: TaskWork, calls: readonly Call[]): ErrorInfo | null {
  if (role.onUnknownOutcome !== "fail") return null;
  const call = calls.find(({ started }) => started !== null && isUnrepeatable(started));
  if (call === undefined) return null;
  const message = `The worker died while "${call.use.name}" ran; whether it took effect is unknown, and the role's onUnknownOutcome is "fail".`;
  return { code: "tool.unknown_outcome", message };
}

/** All at once; a result is recorded as it comes, the last one with what follows from it. */
async function runAll(work: TaskWork, stepId: string, running: readonly Running[]): Promise<void> {
  const { writer } = work;
  let left = running.length;
  let writing: Promise<unknown> = Promise.resolve();
  const finish = async (one: Running): Promise<void> => {
    const result = await run(work, one);
    if (result === null) return; // interrupted: the loop reads the inbox, or learns that its lease is gone
    work.record({ type: "ToolCallCompleted", stepId, toolUseId: one.call.use.id, ...result });
    left--;
    if (left > 0) {
      writing = writing.then(() => writer.flush());
      await writing;
    }
  };
  const ended = await Promise.allSettled(running.map(finish));
  const failure = ended.find((e) => e.status === "rejected");
  if (failure?.status === "rejected") throw failure.reason;
  if (left > 0 && !work.interrupt.aborted) throw new Error("a tool call ended without a result");
}

async function run(
  work: TaskWork,
  { call, tool, idempotencyKey: key }: Running,
): Promise<{ result: Json; isError: boolean } | null> {
  const { deps, hint, writer, deployed } = work;
  const ctx = {
    runId: hint.runId,
    taskId: hint.taskId,
    toolUseId: call.use.id,
    idempotencyKey: key,
    fencingToken: writer.lease.epoch,
    env: deployed.agent.env,
    files: toolFiles(deps, hint.agent, hint.runId),
  };
  return await callTool({ sleep: deps.sleep, agent: deployed.agent }, tool, call.use.args, ctx, work.interrupt);
}
