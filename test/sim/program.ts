// What a program of the simulation is: an agent with its workflow, as its generations have it, the input of its run, and the people around it.
import type { Json } from "../../shared/core/json.ts";
import type { WorkflowCtx, WorkflowFn } from "../../shared/core/workflow/context.ts";
import type {
  AgentDefinition,
  ProcessDefinition,
  RoleDefinition,
  ToolContext,
  ToolDefinition,
} from "../../shared/ports/agents.ts";
import type { PendingApproval } from "../../shared/ports/store.ts";
import { agent, role, tool, workflow } from "../support/agents.ts";
import type { Effect, Outside, Script } from "./provider.ts";
import type { Random } from "./random.ts";

/** What an author's code reaches from the worker it runs in. */
export interface Env {
  readonly owner: string;
  readonly outside: Outside;
  /** Which edit of the code this is: 0, 1, … */
  readonly edition: number;
}

export interface Program {
  readonly name: string;
  readonly editions: number;
  readonly input: Json;
  /** A question that hangs keeps a worker that has to be alone with it; then one run is enough for two workers. */
  readonly alone?: boolean;
  /** Odd editions are alike, and even ones: when nothing but a decision about a cut would go on, the last edit is taken back. */
  readonly takenBack?: boolean;
  /** The same place may be asked A, then B, then A again. */
  readonly wavering?: boolean;
  /** Digests of its questions hold the place of a seal in the log, which the provider's books can't know: they are counted, not matched. */
  readonly sealed?: boolean;
  /** A call without a key is made again only if somebody says so. */
  readonly asks?: boolean;
  /** Whom its runs wait for. */
  readonly people?: People;
  /** What its provider takes at once, over all workers; the share of questions to which it says 429; and for how long it wants no more then. */
  readonly bounds?: { readonly inFlight: number; readonly throttled: number; readonly retryAfterMs: number };
  agent(env: Env): AgentDefinition;
}

/** What the tools of the simulation are called with: whose call it is, in which round of its script, at which place. */
export interface CallArgs {
  readonly of: string;
  readonly round: number;
  readonly i: number;
}
type Gate = (tool: string, args: CallArgs) => boolean;

export interface People {
  /** Whether a call may run; null: nobody says. The same for the same call, where its output must be. */
  allows?(call: PendingApproval, random: Random): boolean | null;
  /** What is decided about a cut, one of these each time; left out: nobody decides. */
  readonly decisions?: readonly ("keep" | "rerun")[];
  /** What is sent to its workflow, each once, at any time and in any order. */
  readonly signals?: readonly { readonly signal: string; readonly value: Json }[];
  /** What its user says, each once, at any time and in any order; closed when all was said. */
  readonly says?: readonly string[];
}

export const task = (script: Script): Json => script as unknown as Json;

/** The same tools for every program: with a key, without one, and without effects. */
function tools({ owner, outside }: Env, isGated: Gate): ToolDefinition[] {
  const make = (name: string, more: Partial<ToolDefinition>): ToolDefinition => {
    const kind = more.effects === "none" ? "none" : more.idempotency === "keyed" ? "keyed" : "unkeyed";
    const effectOf = (args: unknown, { idempotencyKey: key, fencingToken }: ToolContext): Effect => {
      return { tool: name, args: args as Json, key, fencingToken };
    };
    const approval = (args: unknown): boolean => isGated(name, args as CallArgs);
    return tool(name, (args, ctx) => outside.call(owner, effectOf(args, ctx), kind), { ...more, approval });
  };
  return [
    make("book", { effects: "external", idempotency: "keyed" }),
    make("post", { effects: "external", idempotency: "none" }),
    make("look", { effects: "none" }),
  ];
}

interface Options extends Partial<Program> {
  prompt?(env: Env): string;
  readonly role?: Partial<RoleDefinition>;
  readonly gate?: Gate;
  readonly flow?: Partial<Pick<AgentDefinition, "models" | "limits">>;
  /** Beside `main`. */
  processes?(env: Env): Readonly<Record<string, (ctx: WorkflowCtx<Json>) => Promise<Json>>>;
}

export function program(
  name: string,
  run: (ctx: WorkflowCtx<Json>, env: Env) => Promise<Json>,
  more: Options = {},
): Program {
  return made(name, more, (env) => workflow<Json>((ctx) => run(ctx, env)));
}

/** A conversation with the one role. */
export const conversation = (name: string, more: Options): Program =>
  made(name, more, () => ({ kind: "session", role: "worker" }));

function made(name: string, more: Options, main: (env: Env) => ProcessDefinition): Program {
  const { prompt = () => "You work.", role: changed, gate = () => false, flow, processes = () => ({}), ...rest } = more;
  return {
    name,
    editions: 1,
    input: "go",
    ...rest,
    agent: (env) => {
      const worker = role("worker", { tools: tools(env, gate), system: prompt(env), ...changed });
      const others: Record<string, ProcessDefinition> = {};
      for (const [process, run] of Object.entries<WorkflowFn<Json>>(processes(env)))
        others[process] = workflow<Json>(run);
      return {
        ...agent("sim", [worker], main(env), others),
        ...flow,
        codeHash: `${name}-${env.edition}`,
      };
    },
  };
}

export const ask = (ctx: WorkflowCtx<Json>, script: Script, options: { timeoutMs?: number } = {}): Promise<string> =>
  ctx.ask<string>("worker", task(script), options);
export const wave = (ctx: WorkflowCtx<Json>, name: string, scripts: readonly Script[], options = {}) =>
  ctx.wave<string>(
    name,
    scripts.map((s) => ctx.task("worker", task(s))),
    options,
  );
