// OpenAI's chat completions, and whatever speaks them under a base URL (Ollama, vLLM, gateways, `toren model-server`). Our own retries only.
import OpenAI, { APIConnectionError, APIError, APIUserAbortError } from "openai";
import type { ErrorCode } from "../../../core/errors.ts";
import { messageOf } from "../../../core/errors.ts";
import { canonical, type JsonObject, toJson } from "../../../core/json.ts";
import { MODEL_TIMEOUT_MS } from "../../../core/limits.ts";
import type {
  AssistantPart,
  Message,
  ModelRequest,
  ModelResponse,
  StopReason,
  ToolUsePart,
  Usage,
} from "../../../core/messages.ts";
import type { Model, ModelAnswer, ModelFailure } from "../../../ports/model.ts";

export interface OpenAiOptions {
  readonly model: string;
  readonly apiKey: string;
  /** Undefined or empty: OpenAI's own. */
  readonly baseURL: string | undefined;
  /** Of an account with several: who is billed. */
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
}

type Wire = OpenAI.Chat.Completions.ChatCompletionMessageParam;

export function createOpenAiChat({ model, apiKey, baseURL, organization, project }: OpenAiOptions): Model {
  const client = new OpenAI({
    apiKey,
    baseURL: baseURL || null, // null, here and below: what is left out the SDK reads from the process' environment
    organization: organization || null,
    project: project || null,
    maxRetries: 0,
    timeout: MODEL_TIMEOUT_MS,
  });
  return {
    ask: async (request, signal): Promise<ModelAnswer> => {
      try {
        const completion = await client.chat.completions.create(bodyOf(model, request, Boolean(baseURL)), {
          signal,
        });
        return answerOf(completion);
      } catch (thrown) {
        return { ok: false, failure: failureOf(thrown, model) };
      }
    },
  };
}

function bodyOf(
  model: string,
  request: ModelRequest,
  ownServer: boolean,
): OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming {
  const { system, tools, messages, maxTokens, options, outputSchema } = request;
  return {
    model,
    messages: [
      ...(system === "" ? [] : [{ role: "system", content: system } as const]),
      ...messages.flatMap(wireMessages),
    ],
    // OpenAI's newer models refuse max_tokens; other servers often know nothing else
    ...(ownServer ? { max_tokens: maxTokens } : { max_completion_tokens: maxTokens }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map((t) => ({
            type: "function" as const,
            function: {
              name: t.name,
              description: t.description,
              parameters: t.inputSchema as Record<string, unknown>,
            },
          })),
        }),
    ...(outputSchema === undefined
      ? {}
      : {
          response_format: {
            type: "json_schema" as const,
            json_schema: { name: "output", schema: outputSchema as Record<string, unknown> },
          },
        }),
    ...(options as JsonObject),
    stream: false, // last: an option of that name would change the form of the answer
  };
}

/** One of ours can be several of theirs: results of tools are messages of their own, before any text. */
function wireMessages(message: Message): Wire[] {
  if (message.role === "assistant") {
    const text = message.content.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("");
    const calls = message.content.flatMap((p) =>
      p.type === "toolUse"
        ? [{ id: p.id, type: "function" as const, function: { name: p.name, arguments: canonical(p.args) } }]
        : [],
    );
    if (text === "" && calls.length === 0) return [];
    return [
      { role: "assistant", content: text === "" ? null : text, ...(calls.length === 0 ? {} : { tool_calls: calls }) },
    ];
  }
  const results = message.content.flatMap((p): Wire[] =>
    p.type === "toolResult" ? [{ role: "tool", tool_call_id: p.toolUseId, content: p.text }] : [],
  );
  const text = message.content.flatMap((p) => (p.type === "text" ? [p.text] : [])).join("\n\n");
  return text === "" ? results : [...results, { role: "user", content: text }];
}

function answerOf(completion: OpenAI.Chat.Completions.ChatCompletion): ModelAnswer {
  const choice = completion?.choices?.[0];
  if (!choice?.message)
    return {
      ok: false,
      failure: failure("model.bad_answer", "The provider answered 200 with something that is no completion.", true),
    };
  const { message } = choice;
  const content: AssistantPart[] = [];
  if (message.content) content.push({ type: "text", text: message.content });
  if (message.refusal) content.push({ type: "text", text: message.refusal });
  for (const call of message.tool_calls ?? [])
    if ("function" in call) content.push(toolUse(call.id ?? "", call.function.name, call.function.arguments)); // some servers leave out type and id
  const stopReason: StopReason = message.refusal ? "refusal" : stopOf(choice.finish_reason, content);
  const response: ModelResponse = {
    content,
    stopReason,
    usage: usageOf(completion.usage),
    ...(completion.usage === undefined ? {} : { rawUsage: toJson(completion.usage) }),
    ...(completion.model ? { servedBy: completion.model } : {}),
  };
  return { ok: true, response };
}

/** Some servers say `stop` beside tool calls: the calls decide. */
function stopOf(reason: string | null, content: readonly AssistantPart[]): StopReason {
  if (reason === "length") return "maxTokens";
  if (reason === "content_filter") return "refusal";
  return content.some((p) => p.type === "toolUse") ? "toolUse" : "end";
}

/** Arguments are an object, given as text (by some servers as it is); nothing at all is an empty one. Anything else the model is told about. */
function toolUse(id: string, name: string, given: unknown): ToolUsePart {
  const text = typeof given === "string" ? given : canonical(toJson(given));
  try {
    const args = text.trim() === "" ? {} : (toJson(JSON.parse(text)) ?? {});
    if (typeof args === "object" && !Array.isArray(args)) return { type: "toolUse", id, name, args };
  } catch {
    // not JSON, or nested too deeply
  }
  return { type: "toolUse", id, name, args: {}, malformed: text };
}

function usageOf(usage: OpenAI.CompletionUsage | undefined): Usage {
  const count = (n: unknown): number => {
    const tokens = Math.trunc(Number(n ?? 0));
    return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
  };
  const cacheRead = Math.min(count(usage?.prompt_tokens_details?.cached_tokens), count(usage?.prompt_tokens));
  const output = count(usage?.completion_tokens);
  const reasoning = Math.min(count(usage?.completion_tokens_details?.reasoning_tokens), output);
  return { input: count(usage?.prompt_tokens) - cacheRead, cacheRead, cacheWrite: 0, output, reasoning };
}

const failure = (code: ErrorCode, message: string, retryable: boolean, retryAfterMs?: number): ModelFailure => ({
  error: { code, message },
  retryable,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

/** "fetch failed" says nothing; what caused it says where nobody answered. */
function rootOf(thrown: unknown): unknown {
  const seen = new Set<unknown>();
  let root = thrown;
  for (;;) {
    seen.add(root);
    const { cause, errors } = root as { readonly cause?: unknown; readonly errors?: readonly unknown[] };
    const below = cause ?? errors?.[0]; // several, of a name with several addresses
    if (typeof below !== "object" || below === null || seen.has(below)) return root;
    root = below;
  }
}

function failureOf(thrown: unknown, model: string): ModelFailure {
  if (thrown instanceof APIUserAbortError) return failure("model.unavailable", "The call was stopped.", true);
  if (thrown instanceof APIConnectionError)
    return failure("model.unavailable", `No connection to the provider: ${messageOf(rootOf(thrown))}`, true);
  if (!(thrown instanceof APIError))
    return failure("model.bad_answer", `The provider's answer can't be read: ${messageOf(thrown)}`, true);
  const { status } = thrown;
  const message = messageOf(thrown);
  if (status === 401 || status === 403)
    return failure("model.auth", `The provider refused the key: set OPENAI_API_KEY. (${message})`, false);
  if (thrown.code === "context_length_exceeded") return failure("context_exceeded", message, false);
  if (thrown.code === "insufficient_quota")
    return failure("model.auth", `The account has no quota left: ${message}`, false);
  if (status === 404) return failure("model.bad_request", `The provider doesn't know "${model}": ${message}`, false);
  const retryable = status === undefined || status === 408 || status === 409 || status === 429 || status >= 500;
  if (retryable) return failure("model.unavailable", message, true, retryAfter(thrown.headers));
  return failure("model.bad_request", message, false);
}

/** Seconds or a date, as HTTP has it; the exact milliseconds where a provider gives them. */
function retryAfter(headers: Headers | undefined): number | undefined {
  const exact = Number(headers?.get("retry-after-ms") || Number.NaN);
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const value = headers?.get("retry-after");
  if (!value) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
