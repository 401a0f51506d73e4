// The rule-based model of local/model-server behind this wire: what it says to chat completions, said by Messages.
import type { ChatMessage, ChatRequest } from "../../../../local/model-server/chat.ts";
import { type Json, type JsonObject, parseJson } from "../../../../local/model-server/json.ts";
import { respond } from "../../../../local/model-server/respond.ts";
import type { Reply, ReplyBlock } from "./reply.ts";
import type { Body, WireBlock, WireMessage } from "./shape.ts";

/** A script for `createWireAnthropic`. `thinks`: each answer begins with some thinking, so that its way back is checked. */
export const brain =
  ({ thinks = false }: { readonly thinks?: boolean } = {}) =>
  (body: Body): Reply => {
    const answer = respond(chatOf(body));
    const before: ReplyBlock[] = thinks ? [{ thinking: "By fixed rules, not by thought." }] : [];
    if (answer.kind === "text") {
      const content = [...before, { text: answer.text }];
      return answer.finishReason === "length" ? { content, stop: "max_tokens" } : { content };
    }
    return { content: [...before, ...answer.calls.map(({ id, tool, args }) => ({ id, tool, input: args }))] };
  };

function chatOf(body: Body): ChatRequest {
  const system = (body.system ?? []).map(({ text }) => text).join("\n\n");
  const tools = (body.tools ?? []).flatMap((tool) =>
    "input_schema" in tool
      ? [
          {
            type: "function" as const,
            function: {
              name: tool.name,
              description: String(tool.description ?? ""),
              parameters: tool.input_schema as JsonObject,
            },
          },
        ]
      : [],
  );
  const schema = body.output_config?.format?.schema ?? schemaIn(system);
  return {
    model: body.model,
    messages: [
      ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
      ...body.messages.flatMap(chatMessages),
    ],
    ...(tools.length === 0 ? {} : { tools }),
    ...(body.tool_choice?.type === "none" ? { tool_choice: "none" as const } : {}),
    ...(schema === undefined
      ? {}
      : { response_format: { type: "json_schema" as const, json_schema: { name: "output", schema } } }),
    max_tokens: body.max_tokens,
  };
}

/** Where the provider isn't held to a schema, the system prompt ends with it. */
const schemaIn = (system: string): Json | undefined => {
  const text = /JSON Schema:\n(\{.*\})$/s.exec(system)?.[1];
  return text === undefined ? undefined : parseJson(text);
};

function chatMessages({ role, content }: WireMessage): ChatMessage[] {
  const blocks: readonly WireBlock[] = content;
  const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
  if (role === "assistant") {
    const calls = blocks.flatMap((block) =>
      block.type === "tool_use"
        ? [
            {
              id: block.id,
              type: "function" as const,
              function: { name: block.name, arguments: JSON.stringify(block.input) },
            },
          ]
        : [],
    );
    return [{ role, content: text === "" ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
  }
  const results = blocks.flatMap((block): ChatMessage[] =>
    block.type === "tool_result" ? [{ role: "tool", tool_call_id: block.tool_use_id, content: resultText(block) }] : [],
  );
  return text === "" ? results : [...results, { role: "user", content: text }];
}

function resultText({ content = "" }: Extract<WireBlock, { readonly type: "tool_result" }>): string {
  const text =
    typeof content === "string" ? content : content.flatMap((b) => (b.type === "text" ? [b.text] : [])).join("\n");
  return text === "" ? "(shown)" : text;
}
