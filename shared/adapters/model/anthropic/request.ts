// From a question to the body that is sent. Nothing stands in it that a role didn't ask for and a newer model could refuse.
import type Anthropic from "@anthropic-ai/sdk";
import type { ModelRequest } from "../../../core/messages.ts";
import type { ReadyMessage, ShownFile } from "../media.ts";
import { isThinkingBlock, type Turn } from "./conversation.ts";
import { type Family, familyOf } from "./families.ts";
import type { AnthropicOptions } from "./options.ts";
import { linked } from "./origin.ts";
import { heldSchema } from "./output-schema.ts";
import { wireTools } from "./tools.ts";
import { turnsOf } from "./turns.ts";

export type Body = Anthropic.MessageCreateParamsStreaming;

/** What a request does without, because the provider refused it with them. */
export interface LeftOut {
  /** The blocks of earlier answers. */
  readonly thinking: boolean;
  /** The wish for more, on a budget. */
  readonly budget: boolean;
  readonly schema: boolean;
  readonly files: ReadonlyMap<ShownFile, string>;
}
export const NOTHING_LEFT_OUT: LeftOut = { thinking: false, budget: false, schema: false, files: new Map() };

export interface Draft {
  readonly body: Body;
  /** Of everything sent: what an answer's thinking is bound to (origin.ts). */
  readonly prefix: string;
  readonly files: ReadonlyMap<string, ShownFile>;
}

/** `messages` are those of the request, their files read. */
export function draftOf(
  model: string,
  request: ModelRequest,
  messages: readonly ReadyMessage[],
  leftOut: LeftOut = NOTHING_LEFT_OUT,
): Draft {
  const family = familyOf(model);
  const { tools: serverTools = [], output_config, tool_choice, ...said } = (request.options ?? {}) as AnthropicOptions;
  const start = linked("", [request.system, request.tools, serverTools] as const);
  const bound = family?.bound ?? said.thinking?.type !== "enabled"; // of a model that nobody knows yet
  const written = turnsOf(messages, {
    model,
    bound,
    withoutThinking: leftOut.thinking,
    refused: leftOut.files,
    start,
  });
  const fits = !leftOut.budget && beginsWithThought(written.turns);
  const options = withThinkingThatFits(said, request.maxTokens, fits);
  const { tools: own, gone } = wireTools(request.tools, written.turns);
  const tools = [...own, ...(serverTools as unknown as Anthropic.ToolUnion[])];
  const format = leftOut.schema ? null : formatOf(family, request);
  const config = { ...(format === null ? {} : { format }), ...output_config };
  const body = {
    model,
    max_tokens: request.maxTokens,
    messages: written.turns,
    ...(request.system.trim() === "" ? {} : { system: [{ type: "text" as const, text: request.system }] }),
    ...toolsOf(tools, gone ? { type: "none" } : tool_choice),
    ...summaryOfThinking(family, { ...said, tool_choice }),
    ...(options as object),
    ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
    stream: true as const,
  };
  return { body: marked(body as Body), prefix: written.prefix, files: written.files };
}

function formatOf(family: Family | null, { outputSchema }: ModelRequest): Anthropic.JSONOutputFormat | null {
  const schema = family?.schema && outputSchema !== undefined ? heldSchema(outputSchema) : null;
  return schema === null ? null : { type: "json_schema", schema };
}

/** A choice of tools is refused where there are none. */
function toolsOf(tools: readonly Anthropic.ToolUnion[], choice: AnthropicOptions["tool_choice"]): object {
  if (tools.length === 0) return {};
  return choice === undefined ? { tools } : { tools, tool_choice: choice };
}

/**
 * A thinking budget is refused where the answer may not be longer than it (a summary), and where the model goes on from a turn that no thinking begins: one of
 * another model's, before a switch in the middle of it. Such a question is asked without thinking. Within its turn a model thinks once, at the beginning.
 */
function withThinkingThatFits<O extends Pick<AnthropicOptions, "thinking">>(
  options: O,
  maxTokens: number,
  fits: boolean,
): Omit<O, "thinking"> & Pick<AnthropicOptions, "thinking"> {
  const { thinking, ...rest } = options;
  if (thinking?.type !== "enabled") return options;
  return thinking.budget_tokens >= maxTokens || !fits ? rest : options;
}

function beginsWithThought(turns: readonly Turn[]): boolean {
  const said = turns.findLastIndex(
    ({ role, content }) => role === "user" && content.every(({ type }) => type !== "tool_result"),
  );
  const first = turns.slice(said + 1).find(({ role }) => role === "assistant");
  return first === undefined || isThinkingBlock(first.content[0]);
}

/** It thinks anyway, and is paid for it: this only shows what. */
function summaryOfThinking(family: Family | null, { thinking, tool_choice: choice }: AnthropicOptions): object {
  const forced = choice?.type === "any" || choice?.type === "tool"; // not together with thinking that was asked for
  if (!family?.thinksUnasked || thinking !== undefined || forced) return {};
  return { thinking: { type: "adaptive", display: "summarized" } };
}

const MARK = { cache_control: { type: "ephemeral" as const } };

/**
 * What the next request of the same conversation can read from the provider's cache: tools, system prompt, the last two turns of the user (one was the
 * last when the previous answer was asked for, so its entry is found however many blocks came since). A write costs more than plain input, so a
 * conversation that likely ends with this answer has only its beginning marked. More than four marks are refused.
 */
function marked(body: Body): Body {
  const { tools, system, messages } = body;
  const goesOn = tools !== undefined || messages.length > 1;
  const turns = messages as readonly Turn[];
  const users = [...turns.keys()].filter((i) => turns[i]?.role === "user").slice(goesOn ? -2 : turns.length);
  return {
    ...body,
    ...(tools === undefined ? {} : { tools: markedLast(tools) }),
    ...(Array.isArray(system) ? { system: markedLast(system) } : {}),
    messages: turns.map((turn, i) => (users.includes(i) ? { ...turn, content: markedLast(turn.content) } : turn)),
  };
}

const markedLast = <T extends object>(blocks: readonly T[]): T[] =>
  blocks.map((block, i) => (i === blocks.length - 1 ? { ...block, ...MARK } : block));
