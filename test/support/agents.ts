// Agents made in code, for tests of the engine. What an author writes is tested by test/authoring and test/local/load.
import * as z from "zod";
import type { Json } from "../../shared/core/json.ts";
import { MAX_STEPS_DEFAULT, TOOL_TIMEOUT_MS } from "../../shared/core/limits.ts";
import type { WorkflowFn } from "../../shared/core/workflow/context.ts";
import type {
  AgentDefinition,
  Agents,
  ProcessDefinition,
  RoleDefinition,
  ToolDefinition,
} from "../../shared/ports/agents.ts";

export const SCRIPT = "mock/script";

export function role(name: string, more: Partial<RoleDefinition> = {}): RoleDefinition {
  return {
    name,
    model: SCRIPT,
    system: `You are the ${name}.`,
    tools: [],
    options: {},
    maxTokens: 1000,
    maxSteps: MAX_STEPS_DEFAULT,
    totalTokens: null,
    maxCostUsd: null,
    contextWindow: null,
    outputSchema: null,
    onUnknownOutcome: "retry",
    approvalTimeoutMs: null,
    ...more,
  };
}

export function tool(
  name: string,
  handler: ToolDefinition["handler"],
  more: Partial<ToolDefinition> = {},
): ToolDefinition {
  const input = z.looseObject({});
  return {
    name,
    description: `The tool ${name}.`,
    inputSchema: { type: "object" },
    effects: "none",
    idempotency: "none",
    approval: () => false,
    timeoutMs: TOOL_TIMEOUT_MS,
    retry: { attempts: 1, backoffMs: 1 },
    parse: (args) => {
      const parsed = input.safeParse(args);
      return parsed.success ? { ok: true, args: parsed.data } : { ok: false, message: "an object is wanted" };
    },
    handler,
    ...more,
  };
}

export const workflow = <I = Json>(run: WorkflowFn<I>): ProcessDefinition => ({
  kind: "workflow",
  run: run as unknown as WorkflowFn,
  parseInput: (input) => ({ ok: true, input }),
});

/** `more`: processes beside `main`. */
export function agent(
  name: string,
  roles: readonly RoleDefinition[],
  main: ProcessDefinition,
  more: Readonly<Record<string, ProcessDefinition>> = {},
): AgentDefinition {
  return {
    name,
    description: "",
    codeHash: `code-${name}`,
    env: {},
    roles: new Map(roles.map((r) => [r.name, r])),
    processes: new Map([["main", main], ...Object.entries(more)]),
    models: new Map(),
    limits: { maxParallel: null, maxCostUsd: null, totalTokens: null },
  };
}

/** What a worker has, at one generation. */
export const serving = (definition: AgentDefinition, generation = 1): Agents => ({
  get: (name) => (name === definition.name ? { agent: definition, generation } : null),
  names: () => [definition.name],
});
