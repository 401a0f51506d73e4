// A question to a model as it went out, and the one before it, so that people see what a step added and what an edit changed.
import type { ErrorInfo } from "../core/errors.ts";
import { parseTaskEvents, type Recorded, type TaskEvent } from "../core/events.ts";
import type { ModelRequest } from "../core/messages.ts";
import { streamIdOf } from "../core/stream-id.ts";
import {
  type Asked,
  askedAt,
  askedBefore,
  headerDigestAt,
  requestAt,
  type TaskFacts,
} from "../core/task/request-at.ts";
import type { Inspection } from "../ports/inspection.ts";
import type { EngineDeps } from "./deps.ts";
import { factsOf } from "./model-facts.ts";

export interface CallRef {
  readonly agent: string;
  readonly runId: string;
  readonly taskId: string;
  /** Of its LlmCallStarted in the task's stream. */
  readonly seq: number;
}

export interface AskedRequest {
  readonly seq: number;
  readonly stepId: string;
  readonly purpose: "step" | "summary";
  readonly digest: string;
  readonly askedAt: number;
  /** Null: it can't be derived any more; what it began with wasn't kept, or it was a summary's under other settings. */
  readonly request: ModelRequest | null;
  /** The derived one has the digest that is on record. */
  readonly exact: boolean;
}

export interface CallView extends AskedRequest {
  readonly previous: AskedRequest | null;
}

export type ReadCall =
  | { readonly type: "call"; readonly call: CallView }
  | { readonly type: "refused"; readonly error: ErrorInfo };

type ReadDeps = Pick<EngineDeps, "store" | "agents" | "models"> & { readonly inspection: Inspection };

export async function readCall(deps: ReadDeps, { agent, runId, taskId, seq }: CallRef): Promise<ReadCall> {
  const stream = { agent, runId, streamId: streamIdOf(taskId) };
  const spec = await deps.store.tasks.spec(stream);
  if (spec === null) return refused(`Run ${runId} has no task "${taskId}".`);
  // Cut parts too: a question that was cut is read like any other.
  const parsed = parseTaskEvents(await deps.store.streams.read(stream, 0));
  if (!parsed.ok) return refused(`Event ${parsed.seq} of task ${taskId} is of a newer version: ${parsed.type}.`);
  const raw = parsed.events;
  const asked = askedAt(raw, seq);
  if (asked === null) return refused(`Event ${seq} of task ${taskId} isn't a question to a model (LlmCallStarted).`);
  const deployed = deps.agents.get(agent);
  const role = deployed?.agent.roles.get(spec.role);
  const contextWindow = deployed === null || role === undefined ? null : factsOf(deps, deployed, role).contextWindow;
  const facts: TaskFacts = { input: spec.input, session: spec.session, contextWindow };
  const before = askedBefore(raw, asked);
  const [call, previous] = await Promise.all([
    derived(deps, agent, raw, asked, facts),
    before === null ? null : derived(deps, agent, raw, before, facts),
  ]);
  return { type: "call", call: { ...call, previous } };
}

async function derived(
  { inspection }: ReadDeps,
  agent: string,
  raw: readonly Recorded<TaskEvent>[],
  asked: Asked,
  facts: TaskFacts,
): Promise<AskedRequest> {
  const digest = headerDigestAt(raw, asked.seq);
  const header = digest === null ? null : await inspection.header(agent, digest);
  const found = header === null ? null : requestAt({ ...header, parts: {} }, raw, asked, facts);
  return {
    seq: asked.seq,
    stepId: asked.stepId,
    purpose: asked.purpose,
    digest: asked.requestDigest,
    askedAt: asked.recordedAt,
    request: found?.request ?? null,
    exact: found?.exact ?? false,
  };
}

const refused = (message: string): ReadCall => ({ type: "refused", error: { code: "not_found", message } });
