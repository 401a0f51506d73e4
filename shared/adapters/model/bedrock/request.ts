// One question as Converse takes it.
import type {
  ConverseStreamCommandInput,
  SystemContentBlock,
  Message as WireMessage,
} from "@aws-sdk/client-bedrock-runtime";
import { canonical, type Json, type JsonObject } from "../../../core/json.ts";
import type { ModelRequest } from "../../../core/messages.ts";
import type { ReadyMessage, ShownFile } from "../media.ts";
import { markMessages, markSystem, markTools } from "./marks.ts";
import { type BedrockOptions, bedrockThinkingBudget, thinksHard } from "./options.ts";
import { fitsStructuredOutput } from "./output-schema.ts";
import { bind } from "./reasoning.ts";
import { wireTools } from "./tools.ts";
import type { Traits } from "./traits.ts";
import { wireTurns } from "./turns.ts";

/** What a model is believed to take, and this request's files with it. What is refused is taken out (concessions.ts). */
export interface Plan {
  readonly stream: boolean;
  readonly marks: boolean;
  readonly reasoning: boolean;
  readonly outputSchema: boolean;
  /** Ask for a summary of thinking that would be hidden. */
  readonly summary: boolean;
  /** Files to be said in words. */
  readonly refused: ReadonlySet<ShownFile>;
}

export interface Question {
  /** As it is sent: an id or ARN. */
  readonly modelId: string;
  /** What is known to stand behind it. */
  readonly model: string;
  readonly traits: Traits;
  readonly options: BedrockOptions;
  readonly request: Omit<ModelRequest, "messages" | "options">;
  readonly messages: readonly ReadyMessage[];
}

type Input = ConverseStreamCommandInput;
export interface Asking {
  readonly input: Input;
  /** Digest of the conversation that is sent: what reasoning in the answer is bound to. */
  readonly prefix: string;
  /** Which block shows which file. */
  readonly shown: ReadonlyMap<object, ShownFile>;
}

export function converseInput(question: Question, plan: Plan): Asking {
  const { modelId, model, traits, options, request } = question;
  const turns = wireTurns(question.messages, { traits, model, reasoning: plan.reasoning, refused: plan.refused });
  const tools = wireTools(request.tools, turns.messages, traits);
  const system: SystemContentBlock[] = request.system.trim() === "" ? [] : [{ text: request.system }];
  const { messages, prefix } = bind({ system, tools, messages: turns.messages }, turns.written, traits.bindsReasoning);
  const marks = plan.marks ? traits : null;
  const input: Input = {
    modelId,
    messages: markMessages(messages, tools.length > 0, marks),
    ...(system.length === 0 ? {} : { system: markSystem(system, marks) }),
    ...(tools.length === 0 ? {} : { toolConfig: { tools: markTools(tools, marks) } }),
    inferenceConfig: {
      ...(thinksHard(options) ? {} : { maxTokens: request.maxTokens }),
      ...defined(options.inferenceConfig),
    },
    ...extras(options, thinkingFields(question, plan, messages)),
    ...outputConfig(options, plan.outputSchema ? request.outputSchema : undefined),
  };
  return { input, prefix, shown: turns.shown };
}

function extras(options: BedrockOptions, fields: JsonObject): Partial<Input> {
  const { performanceConfig, guardrailConfig, serviceTier, requestMetadata } = options;
  return {
    ...(Object.keys(fields).length === 0
      ? {}
      : { additionalModelRequestFields: fields as Input["additionalModelRequestFields"] }),
    ...(performanceConfig === undefined ? {} : { performanceConfig }),
    ...(guardrailConfig === undefined ? {} : { guardrailConfig: defined(guardrailConfig) }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(requestMetadata === undefined ? {} : { requestMetadata }),
  };
}

const SUMMARY = { type: "adaptive", display: "summarized" };

function thinkingFields({ options, request }: Question, plan: Plan, messages: readonly WireMessage[]): JsonObject {
  const fields = options.additionalModelRequestFields ?? {};
  if (plan.summary) return { ...fields, thinking: SUMMARY };
  const budget = bedrockThinkingBudget(options as Json);
  if (budget === null || (budget < request.maxTokens && mayThink(messages))) return fields;
  const { thinking: _, ...rest } = fields;
  return rest;
}

/**
 * Claude with a thinking budget refuses an answer that may not be longer than it (a summary), and to go on from a turn that no thinking begins. Such is one of
 * another model's, before a switch in the middle of it: that turn is finished without thinking. Within its turn Claude thinks once, at the beginning.
 */
function mayThink(messages: readonly WireMessage[]): boolean {
  const said = messages.findLastIndex(
    ({ role, content = [] }) => role === "user" && content.every((block) => block.toolResult === undefined),
  );
  const first = messages.slice(said + 1).find(({ role }) => role === "assistant");
  return first === undefined || first.content?.[0]?.reasoningContent !== undefined;
}

function outputConfig({ outputConfig: given }: BedrockOptions, schema: Json | undefined): Partial<Input> {
  const held = schema !== undefined && fitsStructuredOutput(schema) ? schema : undefined;
  if (held === undefined) return given === undefined ? {} : { outputConfig: given };
  const textFormat = {
    type: "json_schema" as const,
    structure: { jsonSchema: { name: "output", schema: canonical(held) } },
  };
  return { outputConfig: { ...given, textFormat } };
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Without members that are undefined. */
const defined = <T extends object>(value: T | undefined): Partial<Defined<T>> =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, v]) => v !== undefined)) as Partial<Defined<T>>;
