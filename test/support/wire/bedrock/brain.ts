// The rules of local/model-server behind Converse: the demo runs on Bedrock's wire as it does on that server's own.
import { type ChatMessage, readRequest } from "../../../../local/model-server/chat.ts";
import type { Json } from "../../../../local/model-server/json.ts";
import { respond } from "../../../../local/model-server/respond.ts";
import type { Script } from "./server.ts";
import { blocksOf, type ConverseBody, type WireMessage } from "./shape.ts";

export const brain: Script = ({ modelId, body }) => {
  const read = readRequest(chatBody(modelId, body) as unknown as Json);
  if (!read.ok) throw new Error(read.failure.error.message);
  const answer = respond(read.request);
  if (answer.kind === "text")
    return {
      content: [{ text: answer.text }],
      stopReason: answer.finishReason === "length" ? "max_tokens" : "end_turn",
    };
  return {
    content: answer.calls.map(({ id, tool, args }) => ({ toolUse: { toolUseId: id, name: tool, input: args } })),
  };
};

function chatBody(
  model: string,
  { system = [], messages, toolConfig, inferenceConfig, outputConfig }: ConverseBody,
): object {
  const said = system.flatMap((block) => ("text" in block ? [block.text] : []));
  const tools = (toolConfig?.tools ?? []).flatMap((tool) => ("toolSpec" in tool ? [tool.toolSpec] : []));
  const schema = outputConfig?.textFormat?.structure.jsonSchema.schema ?? schemaIn(said.join("\n"));
  return {
    model,
    messages: [...said.map((content) => ({ role: "system", content })), ...messages.flatMap(chatMessages)],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({
            type: "function",
            function: { name, ...(description === undefined ? {} : { description }), parameters: inputSchema.json },
          })),
        }),
    ...(inferenceConfig?.maxTokens === undefined ? {} : { max_tokens: inferenceConfig.maxTokens }),
    ...(schema === null
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: "output", schema: JSON.parse(schema) } } }),
  };
}

/** The system prompt of a role with an output schema ends in it. A model would read that; fixed rules are told. */
const schemaIn = (system: string): string | null => /under this JSON Schema:\n(\{.*\})/.exec(system)?.[1] ?? null;

function chatMessages({ role, content }: WireMessage): ChatMessage[] {
  const text = blocksOf(content, "text")
    .map((block) => block.text)
    .join("\n\n");
  if (role === "assistant") {
    const calls = blocksOf(content, "toolUse").map(({ toolUse: { toolUseId: id, name, input } }) => ({
      id,
      type: "function" as const,
      function: { name, arguments: JSON.stringify(input) },
    }));
    return [{ role, content: text, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
  }
  const results = blocksOf(content, "toolResult").map(
    ({ toolResult }): ChatMessage => ({
      role: "tool",
      tool_call_id: toolResult.toolUseId,
      content: toolResult.content.flatMap((block) => ("text" in block ? [block.text] : [])).join("\n"),
    }),
  );
  return text === "" ? results : [...results, { role, content: text }];
}
