// The agents' code as a worker has it: loaded from `agents/` on a laptop, bundled in on AWS. What it holds never changes; a reload makes another.
import type { Effects, Idempotency } from "../core/events.ts";
import type { Json } from "../core/json.ts";
import type { ToolSchema } from "../core/messages.ts";
import type { ModelSettings } from "../core/model-settings.ts";
import type { WorkflowFn } from "../core/workflow/context.ts";
import type { FileInfo } from "./files.ts";

/**
 * Everything a tool's handler may know of the world. `files` reads what is attached to the run: `text` is null for an id that isn't attached, the
 * pages of a PDF apart by form feeds, and rejects with TorenError `file.unreadable` (core/text-files.ts: NotText) for an image.
 */
export interface ToolContext {
  readonly runId: string;
  readonly taskId: string;
  readonly toolUseId: string;
  readonly idempotencyKey: string;
  /** The stream's epoch: give it to a system that can refuse an older writer (I12). */
  readonly fencingToken: number;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
  readonly files: { list(): Promise<FileInfo[]>; text(id: string): Promise<string | null> };
}

export interface ToolDefinition extends ToolSchema {
  readonly effects: Effects;
  readonly idempotency: Idempotency;
  /** Whether a person must allow this call. Asked once a call, with checked arguments. */
  approval(args: unknown): boolean;
  readonly timeoutMs: number;
  readonly retry: { readonly attempts: number; readonly backoffMs: number };
  /** Checks the arguments a model gave; the message goes back to the model. */
  parse(args: Json): { readonly ok: true; readonly args: unknown } | { readonly ok: false; readonly message: string };
  /** May throw: the message becomes an error result. */
  handler(args: unknown, ctx: ToolContext): unknown;
}

/** A kind of worker. `long`: one that nobody cuts off after some minutes. `solo`: one that works on nothing else meanwhile. */
export type Lane = "long" | "solo";

export interface RoleDefinition {
  readonly name: string;
  /** The kind of worker that its tasks need; left out: any. */
  readonly lane?: Lane;
  /** `provider/name`. */
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  readonly options: Json;
  readonly maxTokens: number;
  readonly maxSteps: number;
  /** Tokens a task may spend over all its calls; null: no cap. */
  readonly totalTokens: number | null;
  /** US dollars a task may spend over all its calls; null: no cap. */
  readonly maxCostUsd: number | null;
  /** Tokens of the model's window, where its author knows better than the table; null: the table's. */
  readonly contextWindow: number | null;
  readonly outputSchema: Json | null;
  readonly onUnknownOutcome: "retry" | "fail" | "ask";
  /** A call that nobody has decided about by then is denied; null: it waits for ever. */
  readonly approvalTimeoutMs: number | null;
}

export type ProcessDefinition =
  /** A workflow's code. */
  | {
      readonly kind: "workflow";
      readonly run: WorkflowFn;
      parseInput(
        input: Json,
      ): { readonly ok: true; readonly input: Json } | { readonly ok: false; readonly message: string };
    }
  /** An agent with one role and no workflow: the run is one task. */
  | { readonly kind: "role"; readonly role: string }
  /** A conversation with a role: the run ends when somebody closes it. */
  | { readonly kind: "session"; readonly role: string };

/** `task`: the run ends by itself. `session`: a conversation, until somebody closes it. */
export type RunMode = "task" | "session";

/** A value that comes from outside a run, as an author's redaction is told of it. */
export interface FromOutside {
  readonly kind:
    | "input"
    | "message"
    /** Of a decision about a call, or of a cancel. */
    | "comment"
    | "signal"
    | "toolResult"
    /** What a tool threw, as text. */
    | "toolError"
    | "stepResult"
    /** What a step threw, as text. */
    | "stepError";
  /** Of the process, signal, tool or step; null: it has none. */
  readonly name: string | null;
}
export type RedactFn = (value: Json, what: FromOutside) => Json;

export interface AgentDefinition {
  /** Takes out of values what must never be recorded; left out: nothing. */
  readonly redact?: RedactFn;
  /** How long its runs are kept after their end; left out: for ever. */
  readonly retentionMs?: number;
  readonly name: string;
  readonly description: string;
  /** Of everything that was loaded: the deployer registers it as a generation (I7). */
  readonly codeHash: string;
  readonly roles: ReadonlyMap<string, RoleDefinition>;
  readonly processes: ReadonlyMap<string, ProcessDefinition>;
  readonly env: Readonly<Record<string, string>>;
  /** What the author says about models, by their whole names. */
  readonly models: ReadonlyMap<string, ModelSettings>;
  readonly limits: AgentLimits;
}

/** What an agent's author bounds; null: no bound. */
export interface AgentLimits {
  /** Tasks of this agent that are worked on at once, over all runs and workers. */
  readonly maxParallel: number | null;
  /** US dollars that a run and its children may spend. */
  readonly maxCostUsd: number | null;
  /** Tokens that a run and its children may spend. */
  readonly totalTokens: number | null;
}

/** An agent with the generation that its deployer registered for this code. */
export interface Deployed {
  readonly agent: AgentDefinition;
  readonly generation: number;
}

export interface Agents {
  /** The newest code this worker has; null: it doesn't serve this agent. */
  get(name: string): Deployed | null;
  names(): string[];
}
