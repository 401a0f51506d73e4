// The agent that is measured, and its model: both take no time and keep nothing. The model's answer depends on how many messages it is shown, so that
// a task of n steps is n model calls with a tool call each, and one more for the answer.
import type { Json } from "../shared/core/json.ts";
import type { ModelRequest, ModelResponse } from "../shared/core/messages.ts";
import type { WorkflowCtx, WorkflowFn } from "../shared/core/workflow/context.ts";
import type {
  AgentDefinition,
  Agents,
  ProcessDefinition,
  RoleDefinition,
  ToolDefinition,
} from "../shared/ports/agents.ts";
import type { Model } from "../shared/ports/model.ts";

export const MODEL = "mock/instant";
export const ROLE = "worker";

/** A task's input. `tag` tells a waiting figure whose call it was. */
export interface Job {
  readonly steps: number;
  readonly tag: string;
}
export const job = (steps: number, tag = ""): Json => ({ steps, tag });

/** The process `wave`: this many tasks at once. */
export const WAVE = "wave";

const SENTENCE = "The passage was read; what it says about locks is noted, and the next one is looked at. ";
const RESULT = "A row lock is held until its transaction ends; readers are never blocked by it. ".repeat(5);

const look: ToolDefinition = {
  name: "look",
  description: "Reads the passage with this number.",
  inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  effects: "none",
  idempotency: "none",
  approval: () => false,
  timeoutMs: 60_000,
  retry: { attempts: 1, backoffMs: 1 },
  parse: (args) => ({ ok: true, args }),
  handler: () => ({ text: RESULT }),
};

export const worker: RoleDefinition = {
  name: ROLE,
  model: MODEL,
  system: "You read passages, one after the other, until you have read enough.",
  tools: [look],
  options: {},
  maxTokens: 1_000,
  maxSteps: 1_000_000,
  totalTokens: null,
  maxCostUsd: null,
  contextWindow: null,
  outputSchema: null,
  onUnknownOutcome: "retry",
  approvalTimeoutMs: null,
};

async function wave(ctx: WorkflowCtx<Json>): Promise<Json> {
  const { tasks } = ctx.input as { tasks: number };
  const { results } = await ctx.wave(
    "all",
    Array.from({ length: tasks }, (_, n) => ctx.task(ROLE, { steps: 0, tag: `${n}` })),
  );
  return results.length;
}

const main: ProcessDefinition = { kind: "role", role: ROLE };
const waves: ProcessDefinition = {
  kind: "workflow",
  run: wave as unknown as WorkflowFn,
  parseInput: (input) => ({ ok: true, input }),
};

export const definition = (name: string): AgentDefinition => ({
  name,
  description: "",
  codeHash: `bench-${name}`,
  env: {},
  models: new Map(),
  limits: { maxParallel: null, maxCostUsd: null, totalTokens: null },
  roles: new Map([[ROLE, worker]]),
  processes: new Map<string, ProcessDefinition>([
    ["main", main],
    [WAVE, waves],
  ]),
});

export const serving = (...names: readonly string[]): Agents => {
  const deployed = new Map(names.map((name) => [name, { agent: definition(name), generation: 1 }]));
  return { get: (name) => deployed.get(name) ?? null, names: () => [...deployed.keys()] };
};

/** What the task was asked to do. */
export function jobOf(request: ModelRequest): Job {
  const [first] = request.messages[0]?.content ?? [];
  return JSON.parse(first?.type === "text" ? first.text : "{}") as Job;
}

/** Steps whose results the model is shown: an answer and its results are two messages, after the first. */
const stepsIn = (request: ModelRequest): number => (request.messages.length - 1) / 2;

export function answer(request: ModelRequest): ModelResponse {
  const n = stepsIn(request);
  const usage = { input: 100, cacheRead: 100 * n, cacheWrite: 0, output: 50, reasoning: 0 };
  if (n >= jobOf(request).steps) return { content: [{ type: "text", text: "Enough." }], stopReason: "end", usage };
  return {
    content: [
      { type: "text", text: SENTENCE },
      { type: "toolUse", id: `call_${n}`, name: look.name, args: { n } },
    ],
    stopReason: "toolUse",
    usage,
  };
}

/** Answers at once, after telling whom it concerns. */
export const instant = (asked: (job: Job) => void = () => {}): Model => ({
  ask: async (request) => {
    asked(jobOf(request));
    return { ok: true, response: answer(request) };
  },
});

/** A model that answers when it is told to: what lies between two of its calls is one live step. */
export interface Gate extends Model {
  /** Resolves when the model is asked. One caller at a time. */
  arrival(): Promise<void>;
  /** Lets the call under way have its answer. */
  open(): void;
}

export function gate(): Gate {
  let arrived = Promise.withResolvers<void>();
  let opened = Promise.withResolvers<void>();
  return {
    arrival: () => arrived.promise,
    open: () => {
      arrived = Promise.withResolvers();
      const before = opened;
      opened = Promise.withResolvers();
      before.resolve();
    },
    ask: async (request) => {
      const turn = opened.promise;
      arrived.resolve();
      await turn;
      return { ok: true, response: answer(request) };
    },
  };
}
