// A model on the wire, for the tests of its adapter: what they all need to ask it something.
import { createAnthropic } from "../../../../shared/adapters/model/anthropic/index.ts";
import type { Message, ModelRequest, ModelResponse, ToolSchema, UserPart } from "../../../../shared/core/messages.ts";
import type { AskContext, Delta, ModelAnswer, ModelFailure } from "../../../../shared/ports/model.ts";
import { createWireAnthropic, type WireAnthropic, type WireAnthropicOptions } from "./index.ts";

export interface Asking {
  readonly wire: WireAnthropic;
  /** What watchers were shown, over all questions. */
  readonly deltas: Delta[];
  ask(request: Partial<ModelRequest>, context?: Partial<AskContext>, signal?: AbortSignal): Promise<ModelAnswer>;
  answer(request: Partial<ModelRequest>, context?: Partial<AskContext>): Promise<ModelResponse>;
  failure(request: Partial<ModelRequest>): Promise<ModelFailure>;
}

export interface AskingOptions extends Partial<WireAnthropicOptions> {
  readonly model?: string;
  readonly key?: string;
  readonly timeoutMs?: number;
  /** The provider may refuse a request before it takes a lesser one. */
  readonly refusals?: true;
}

/** Servers of a test file, closed by `closeAll`. */
const open: WireAnthropic[] = [];
export const closeAll = async (): Promise<void> => {
  for (const wire of open.splice(0)) await wire.close();
};

export const user = (...parts: readonly (UserPart | string)[]): Message => ({
  role: "user",
  content: parts.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)),
});
export const result = (toolUseId: string, text = "found"): UserPart => ({
  type: "toolResult",
  toolUseId,
  text,
  isError: false,
});
export const assistant = (content: Extract<Message, { role: "assistant" }>["content"]): Message => ({
  role: "assistant",
  content,
});

export const LOOK: ToolSchema = {
  name: "look",
  description: "Looks.",
  inputSchema: { type: "object", properties: { q: { type: "string" } }, additionalProperties: false },
};

export async function asking({
  model = "claude-sonnet-5-5",
  key = "sk-test",
  timeoutMs,
  refusals,
  ...options
}: AskingOptions = {}): Promise<Asking> {
  const wire = await createWireAnthropic({ script: () => "Hello.", ...options });
  open.push(wire);
  const asked = createAnthropic({
    model,
    apiKey: key,
    baseURL: wire.baseURL,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const deltas: Delta[] = [];
  const ask: Asking["ask"] = (request, context = {}, signal = new AbortController().signal) =>
    asked.ask(
      {
        model: `anthropic/${model}`,
        system: "You look.",
        tools: [LOOK],
        messages: [user("Hi.")],
        maxTokens: 1_000,
        options: {},
        ...request,
      },
      signal,
      { media: () => Promise.resolve(null), onDelta: (delta) => deltas.push(delta), ...context },
    );
  return {
    wire,
    deltas,
    ask,
    answer: async (request, context) => {
      const got = await ask(request, context);
      if (!got.ok) throw new Error(`${got.failure.error.code}: ${got.failure.error.message}`);
      const refused = wire.ledger.find(({ refusal }) => refusal !== null);
      if (refused !== undefined && !refusals) throw new Error(`refused: ${refused.refusal}`);
      return got.response;
    },
    failure: async (request) => {
      const got = await ask(request);
      if (got.ok) throw new Error(`answered: ${JSON.stringify(got.response.content)}`);
      return got.failure;
    },
  };
}
