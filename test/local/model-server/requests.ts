import type { ChatRequest } from "../../../local/model-server/chat.ts";
import { readRequest } from "../../../local/model-server/chat.ts";
import type { Json, JsonObject } from "../../../local/model-server/json.ts";
import { type Answer, respond } from "../../../local/model-server/respond.ts";

const string = { type: "string" };
const integer = { type: "integer" };

export function tool(name: string, required: JsonObject, optional: JsonObject = {}): JsonObject {
  const parameters = { type: "object", properties: { ...required, ...optional }, required: Object.keys(required) };
  return { type: "function", function: { name, parameters } };
}

export const FILE_TOOLS = [
  tool("list_files", {}),
  tool("search_files", { query: string }, { file: string, limit: integer }),
  tool("read_file", { file: string }, { fromLine: integer, lines: integer }),
];

export function request(body: JsonObject): ChatRequest {
  const read = readRequest({ model: "m", ...body });
  if (!read.ok) throw new Error(read.failure.error.message);
  return read.request;
}

export function user(text: string, more: JsonObject = {}): ChatRequest {
  return request({ messages: [{ role: "user", content: text }], ...more });
}

export function textOf(answer: Answer): string {
  if (answer.kind !== "text") throw new Error(`calls ${answer.calls.map((call) => call.tool).join(", ")}`);
  return answer.text;
}

/** Lets the rules work with tools until they answer in text; gives the answer and the calls of each round. */
export function work(
  task: string,
  tools: readonly JsonObject[],
  run: (tool: string, args: JsonObject) => Json,
): { readonly text: string; readonly rounds: readonly (readonly string[])[] } {
  const messages: Json[] = [{ role: "user", content: task }];
  const rounds: string[][] = [];
  for (;;) {
    const answer = respond(request({ messages, tools }));
    if (answer.kind === "text") return { text: answer.text, rounds };
    rounds.push(answer.calls.map((call) => `${call.tool} ${JSON.stringify(call.args)}`));
    messages.push({
      role: "assistant",
      content: null,
      tool_calls: answer.calls.map(({ id, tool: name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    });
    for (const { id, tool: name, args } of answer.calls) {
      const result = run(name, args);
      const content = typeof result === "string" ? result : JSON.stringify(result);
      messages.push({ role: "tool", tool_call_id: id, content });
    }
  }
}
