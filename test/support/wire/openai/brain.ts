// The rule-based model of local/model-server behind this wire: what it says to chat completions, said by either interface.
import type { ChatMessage, ChatRequest } from "../../../../local/model-server/chat.ts";
import { type Json, type JsonObject, parseJson } from "../../../../local/model-server/json.ts";
import { respond } from "../../../../local/model-server/respond.ts";
import type { Asked, InputItem, Reply, ReplyItem, ResponsesBody } from "./index.ts";
import type { ChatBody } from "./shape-chat.ts";
import { traitsOf } from "./traits.ts";

/** A script for `createWireOpenAi`. Models that reason do: each answer begins with some, so that its way back is checked. */
export function brain({ api, body }: Asked): Reply {
  const answer = respond(api === "chat" ? ofChat(body) : ofResponses(body));
  const thought: ReplyItem[] = traitsOf(body.model).reasons ? [{ reasoning: "By fixed rules, not by thought." }] : [];
  if (answer.kind === "text") {
    const items = [...thought, { text: answer.text }];
    return answer.finishReason === "length" ? { items, status: "incomplete" } : { items };
  }
  return { items: [...thought, ...answer.calls.map(({ id, tool, args }) => ({ tool, args, id }))] };
}

function ofChat({ model, messages, tools, response_format, max_tokens, max_completion_tokens }: ChatBody): ChatRequest {
  const most = max_tokens ?? max_completion_tokens;
  return {
    model,
    messages,
    ...(tools === undefined ? {} : { tools }),
    ...(response_format === undefined ? {} : { response_format }),
    ...(most === undefined ? {} : { max_tokens: most }),
  };
}

function ofResponses({ model, instructions, input, tools = [], text, max_output_tokens }: ResponsesBody): ChatRequest {
  const schema = (text?.format?.schema as Json | undefined) ?? schemaIn(instructions ?? "");
  const functions = tools.flatMap((tool) =>
    tool.type === "function"
      ? [
          {
            type: "function" as const,
            function: {
              name: String(tool.name),
              description: String(tool.description ?? ""),
              parameters: tool.parameters as JsonObject,
            },
          },
        ]
      : [],
  );
  return {
    model,
    messages: [
      ...(instructions === undefined ? [] : [{ role: "system" as const, content: instructions }]),
      ...chatMessages(input),
    ],
    ...(functions.length === 0 ? {} : { tools: functions }),
    ...(schema === undefined
      ? {}
      : { response_format: { type: "json_schema" as const, json_schema: { name: "output", schema } } }),
    max_tokens: max_output_tokens,
  };
}

/** Where the answer isn't held to a schema, the system prompt ends with it. */
const schemaIn = (system: string): Json | undefined => {
  const found = /JSON Schema:\n(\{.*\})$/s.exec(system)?.[1];
  return found === undefined ? undefined : parseJson(found);
};

/** Calls in a row are those of one answer. */
function chatMessages(input: readonly InputItem[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (const item of input) {
    const last = messages.at(-1);
    if (item.type === "function_call") {
      const call = {
        id: item.call_id,
        type: "function" as const,
        function: { name: item.name, arguments: item.arguments },
      };
      if (last?.role === "assistant")
        messages[messages.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] };
      else messages.push({ role: "assistant", content: null, tool_calls: [call] });
    } else if (item.type === "function_call_output")
      messages.push({ role: "tool", tool_call_id: item.call_id, content: textIn(item.output) });
    else if ("role" in item)
      messages.push({ role: item.role === "assistant" ? "assistant" : "user", content: textIn(item.content) });
  }
  return messages;
}

function textIn(content: string | readonly { readonly type: string; readonly text?: string }[]): string {
  if (typeof content === "string") return content;
  const text = content.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");
  return text === "" ? "(shown)" : text;
}
