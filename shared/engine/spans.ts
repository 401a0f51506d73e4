// What the spans say, in the words of OpenTelemetry's GenAI conventions (gen_ai.*) and in ours (toren.*): docs/how-to/trace-runs.md lists them. A span is
// made where something is really done, so a replay makes none.

import { costOf, type Rates } from "../core/cost.ts";
import { TorenError } from "../core/errors.ts";
import type { ModelRequest, ModelResponse, Usage } from "../core/messages.ts";
import { streamIdOf } from "../core/stream-id.ts";
import { formatTraceparent, parseTraceparent } from "../core/traceparent.ts";
import type { ToolContext, ToolDefinition } from "../ports/agents.ts";
import type { ModelFailure } from "../ports/model.ts";
import type { Hint } from "../ports/queue.ts";
import type { TraceStore } from "../ports/store.ts";
import type { Worked } from "./deps.ts";
import {
  type Attributes,
  activeTraceparent,
  activeWork,
  beneath,
  inSpan,
  isTraced,
  type SpanEnd,
} from "./telemetry.ts";

const thrownAs = (thrown: unknown): string => (thrown instanceof TorenError ? thrown.code : "bug");

const idsOf = (of: { agent?: string; runId?: string; taskId?: string | null } | null): Attributes => ({
  "toren.agent": of?.agent,
  "toren.run_id": of?.runId,
  "toren.task_id": of?.taskId ?? undefined,
});

/**
 * The start of a run: its first span, over before the run has done anything, since a run lives for days over many processes and a span in one. All others
 * are in its trace. `parent`: the caller's traceparent, unless a span is active here already. `start` gets what is to be kept with the run.
 */
export async function traceStart<T>(
  run: {
    readonly agent: string;
    readonly runId: string;
    readonly process: string;
    readonly parent: string | undefined;
  },
  start: (traceContext: string | undefined) => Promise<T>,
  isNew: (result: T) => boolean,
): Promise<T> {
  const caller = parseTraceparent(run.parent);
  const from = caller === null ? null : formatTraceparent(caller);
  const parent = activeTraceparent() === null ? from : undefined;
  const work = { agent: run.agent, runId: run.runId, taskId: null, cameWith: undefined };
  return await inSpan(
    () => ({ name: "toren.run", attributes: { ...idsOf(run), "toren.process": run.process }, parent, work }),
    // Where nobody listens the caller's trace is still handed on to workers where somebody may.
    (traceparent) => start(traceparent ?? from ?? undefined),
    (result) => ({ forget: !isNew(result) }),
    thrownAs,
  );
}

/**
 * Work on a message, as a tick or as a task. Ticks hang on the run's first span, tasks on the tick that planned them, so a trace is never deeper than a
 * handful, however long its run; whoever else woke the stream is linked. A message that finds nothing to do has no span.
 */
export async function traceWork<T extends string>(traces: TraceStore, hint: Hint, work: () => Promise<T>): Promise<T> {
  if (!isTraced()) return await work();
  const { agent, runId, taskId, traceparent } = hint;
  const known = await traces.of({ agent, runId, streamId: streamIdOf(taskId) }).catch(() => null); // the work itself will say what is wrong
  const { parent, links } = placeOf(known?.traceContext ?? null, hint);
  const own = { agent, runId, taskId, cameWith: traceparent };
  if (known === null || known.atRest) return await beneath(parent, own, work);
  const role: Attributes =
    known.role === null ? {} : { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": known.role };
  return await inSpan(
    () => ({
      name: taskId === null ? "toren.tick" : "toren.task",
      attributes: { ...idsOf(hint), ...role },
      parent,
      links,
      work: own,
    }),
    () => work(),
    (worked) => ({ attributes: { "toren.outcome": worked }, forget: NOTHING_DONE.has(worked) }),
    thrownAs,
  );
}
/** Two messages about one stream that came at once: the look before found it free for both. */
const NOTHING_DONE: ReadonlySet<string> = new Set<Worked>(["leased", "terminal", "missing", "unserved"]);

/** Pure: where in the run's trace the work stands. A run that nobody traced at its start goes on in the trace that its message came with. */
export function placeOf(
  traceContext: string | null,
  { taskId, traceparent }: Hint,
): { readonly parent: string | null; readonly links: string[] } {
  const [root, sender] = [parseTraceparent(traceContext), parseTraceparent(traceparent)];
  if (traceparent === undefined || sender === null) return { parent: traceContext, links: [] };
  if (root === null) return { parent: traceparent, links: [] };
  const inside = sender.traceId === root.traceId;
  if (inside && (taskId !== null || sender.spanId === root.spanId)) return { parent: traceparent, links: [] };
  return { parent: traceContext, links: [traceparent] };
}

/** What a message about this stream carries: the span that sends it. A task that hands itself on stays where it hung. Undefined: nobody listens here. */
export function traceparentFor(hint: Hint): string | undefined {
  const work = activeWork();
  if (work !== null && hint.taskId !== null && hint.taskId === work.taskId && hint.runId === work.runId)
    return work.cameWith;
  return activeTraceparent() ?? hint.traceparent;
}

/** What a call is, beside its request. */
export interface AboutCall {
  readonly stepId: string;
  readonly purpose: "step" | "summary";
  /** 1 at the first try. */
  readonly attempt: number;
  /** Null: the price is unknown, and no cost is told. */
  readonly rates: Rates | null;
  /** An earlier worker's call, fetched and not sent again. */
  readonly reattached: boolean;
}

/** How one try ended, of which its span says the numbers. */
type Tried =
  | { readonly type: "answered"; readonly response: Pick<ModelResponse, "servedBy" | "stopReason" | "usage"> }
  | { readonly type: "failed"; readonly failure: ModelFailure }
  | { readonly type: "interrupted" };

/** One try of a model call. */
export async function traceModelCall<T extends Tried>(
  request: ModelRequest,
  about: AboutCall | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  const plan = (): Attributes => ({
    ...idsOf(activeWork()),
    "toren.step_id": about?.stepId,
    "toren.attempt": about?.attempt,
    "toren.purpose": about?.purpose,
    "toren.reattached": about?.reattached === true ? true : undefined,
    "gen_ai.operation.name": "chat",
    ...modelNames(request.model),
    "gen_ai.request.max_tokens": request.maxTokens,
  });
  return await inSpan(
    () => ({ name: "toren.llm", attributes: plan() }),
    ask,
    (asked) => answerSaid(asked, about?.rates ?? null),
    thrownAs,
  );
}

function answerSaid(asked: Tried, rates: Rates | null): SpanEnd {
  if (asked.type === "interrupted") return { attributes: { "toren.outcome": "interrupted" } };
  if (asked.type === "failed") {
    const { error, usage } = asked.failure;
    const said = usage === undefined ? {} : spentSaid(usage, rates);
    return { attributes: { "toren.outcome": "failed", ...said }, error: error.code };
  }
  const { servedBy, stopReason, usage } = asked.response;
  return {
    attributes: {
      "toren.outcome": "answered",
      "gen_ai.response.model": servedBy,
      "gen_ai.response.finish_reasons": [stopReason],
      ...spentSaid(usage, rates),
    },
  };
}

/** The conventions count cached tokens as input; our `input` is what no cache served. */
const spentSaid = (u: Usage, rates: Rates | null): Attributes => ({
  "gen_ai.usage.input_tokens": u.input + u.cacheRead + u.cacheWrite,
  "gen_ai.usage.output_tokens": u.output,
  "gen_ai.usage.cache_read.input_tokens": u.cacheRead,
  "gen_ai.usage.cache_creation.input_tokens": u.cacheWrite,
  "gen_ai.usage.reasoning.output_tokens": u.reasoning,
  "toren.cost_usd": rates === null ? undefined : costOf(u, rates),
  "toren.cost_simulated": rates?.simulated === true ? true : undefined,
});

const PROVIDERS: Readonly<Record<string, string>> = { bedrock: "aws.bedrock" };

/** `provider/name`, the two apart. */
function modelNames(model: string): Attributes {
  const slash = model.indexOf("/");
  const provider = model.slice(0, Math.max(0, slash));
  return { "gen_ai.provider.name": PROVIDERS[provider] ?? provider, "gen_ai.request.model": model.slice(slash + 1) };
}

/** One try of a tool call. `T` null: it was interrupted. */
export async function traceToolCall<T extends { readonly isError: boolean; readonly fault?: string }>(
  tool: ToolDefinition,
  ctx: Omit<ToolContext, "signal">,
  attempt: number,
  call: () => Promise<T | null>,
): Promise<T | null> {
  return await inSpan(
    () => ({
      name: "toren.tool",
      attributes: {
        ...idsOf({ ...activeWork(), runId: ctx.runId, taskId: ctx.taskId }),
        "toren.attempt": attempt,
        "toren.effects": tool.effects,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": ctx.toolUseId,
      },
    }),
    call,
    (tried) => {
      if (tried === null) return { attributes: { "toren.outcome": "interrupted" } };
      const outcome = tried.isError ? "error" : "completed";
      return {
        attributes: { "toren.outcome": outcome },
        error: tried.isError ? (tried.fault ?? "tool_error") : undefined,
      };
    },
    thrownAs,
  );
}
