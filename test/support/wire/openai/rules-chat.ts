// What /v1/chat/completions refuses of a request that has the right form.
import { fileProblem, firstOf, invalid, type Refusal, tooMuch } from "./refusal.ts";
import type { ChatBody } from "./shape-chat.ts";
import { settingsProblem, traitsOf } from "./traits.ts";

type Rule = (body: ChatBody) => Refusal | null;

export const chatRefusal: Rule = (body) => firstOf(RULES, (rule) => rule(body));

/** Every call is answered by tool messages right after it, and no tool message stands elsewhere. */
const pairs: Rule = ({ messages }) => {
  let open = new Set<string>();
  const left = (): Refusal =>
    invalid(
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
      "messages",
    );
  const wrong = firstOf(messages, (message, i) => {
    if (message.role === "tool")
      return open.delete(message.tool_call_id)
        ? null
        : invalid(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            `messages[${i}].role`,
          );
    if (open.size > 0) return left();
    if (message.role !== "assistant") return null;
    const ids = (message.tool_calls ?? []).map(({ id }) => id);
    open = new Set(ids);
    if (open.size < ids.length) return invalid("Duplicate tool_call_id.", `messages[${i}].tool_calls`);
    return ids.length === 0 && message.content === null
      ? invalid(`Invalid value for 'content': expected a string, got null.`, `messages[${i}].content`)
      : null;
  });
  return wrong ?? (open.size > 0 ? left() : null);
};

const settings: Rule = (body) => {
  const { model, tools, tool_choice: choice, max_tokens, stream, stream_options } = body;
  const { reasons, phases } = traitsOf(model);
  const problem = settingsProblem(model, body, body.reasoning_effort);
  if (problem !== null) return invalid(problem, "temperature", "unsupported_parameter");
  if (max_tokens !== undefined && reasons)
    return invalid(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "max_tokens",
      "unsupported_parameter",
    );
  if (choice !== undefined && tools === undefined)
    return invalid(
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      "tool_choice",
    );
  if (phases && tools !== undefined && body.reasoning_effort !== "none")
    return invalid(
      `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
      "reasoning_effort",
    );
  return stream_options !== undefined && stream !== true
    ? invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    : null;
};

const files: Rule = ({ model, messages }) => {
  const { images } = traitsOf(model);
  let chars = 0;
  const wrong = firstOf(messages, ({ content }, i) =>
    !Array.isArray(content)
      ? null
      : firstOf(content, (part, j) => {
          const url =
            part.type === "image_url" ? part.image_url.url : part.type === "file" ? part.file.file_data : null;
          if (url === null) return null;
          chars += url.length;
          return fileProblem(url, `messages[${i}].content[${j}]`, images);
        }),
  );
  return wrong ?? tooMuch(chars);
};

const RULES: readonly Rule[] = [pairs, settings, files];
