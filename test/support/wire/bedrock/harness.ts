// An adapter and the server that it speaks to, for the tests of bedrock/.
import { afterEach } from "@jest/globals";
import { createBedrock } from "../../../../shared/adapters/model/bedrock/index.ts";
import type { Message, ModelRequest, ModelResponse, UserPart } from "../../../../shared/core/messages.ts";
import { modelResponse } from "../../../../shared/core/messages.ts";
import type { AskContext, ModelAnswer, ModelFailure } from "../../../../shared/ports/model.ts";
import { createWireBedrock, type LedgerEntry, type WireBedrock, type WireBedrockOptions } from "./server.ts";
import type { ConverseBody } from "./shape.ts";

export const CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
export const NEW_CLAUDE = "global.anthropic.claude-fable-5-1";
export const NOVA = "amazon.nova-pro-v1:0";
export const LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0";
export const QWEN = "qwen.qwen3-32b-v1:0";
export const OPAQUE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6";
/** One of each family that differs, and one that doesn't say what it is. */
export const MODELS = [CLAUDE, NEW_CLAUDE, NOVA, LLAMA, QWEN, OPAQUE] as const;

export const CREDENTIALS = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "secret" };
export const NEVER = new AbortController().signal;

export const user = (...parts: readonly (string | UserPart)[]): Message => ({
  role: "user",
  content: parts.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)),
});
export const result = (toolUseId: string, text: string, isError = false): UserPart => ({
  type: "toolResult",
  toolUseId,
  text,
  isError,
});
export const assistant = (...content: Extract<Message, { role: "assistant" }>["content"]): Message => ({
  role: "assistant",
  content,
});
export const uses = (id: string, name = "look", args = {}) => ({ type: "toolUse", id, name, args }) as const;

export const REQUEST: ModelRequest = {
  model: "bedrock/any",
  system: "You are brief.",
  tools: [],
  messages: [user("Hi.")],
  maxTokens: 64,
  options: {},
};
export const LOOK = { name: "look", description: "Looks.", inputSchema: { type: "object", properties: {} } };

export interface Wired {
  readonly server: WireBedrock;
  ask(of?: Partial<ModelRequest>, more?: Asking): Promise<ModelAnswer>;
  /** What it answered, fit to be recorded; throws where it failed. */
  answered(of?: Partial<ModelRequest>, more?: Asking): Promise<ModelResponse>;
  failed(of?: Partial<ModelRequest>, more?: Asking): Promise<ModelFailure>;
  /** What was sent last. */
  sent(): ConverseBody;
  last(): LedgerEntry;
}
interface Asking {
  readonly signal?: AbortSignal;
  readonly context?: AskContext;
}

/** Each asks with one adapter, as a worker does. */
export async function wired(
  model: string = CLAUDE,
  { silenceMs, ...options }: WireBedrockOptions & { readonly silenceMs?: number } = {},
): Promise<Wired> {
  const server = await createWireBedrock(options);
  const settings = { model, region: "us-east-1", endpoint: server.url, credentials: CREDENTIALS };
  const bedrock = createBedrock({ ...settings, ...(silenceMs === undefined ? {} : { silenceMs }) });
  const ask: Wired["ask"] = (of = {}, { signal = NEVER, context } = {}) =>
    bedrock.ask({ ...REQUEST, ...of }, signal, context);
  const last = (): LedgerEntry => {
    const entry = server.ledger.at(-1);
    if (entry === undefined) throw new Error("nothing was sent");
    return entry;
  };
  return {
    server,
    ask,
    last,
    sent: () => last().body as ConverseBody,
    answered: async (of, more) => {
      const answer = await ask(of, more);
      if (!answer.ok) throw new Error(answer.failure.error.message);
      return modelResponse.parse(answer.response);
    },
    failed: async (of, more) => {
      const answer = await ask(of, more);
      if (answer.ok) throw new Error("it was answered");
      return answer.failure;
    },
  };
}

/** For a test file: the servers of each test are closed after it. */
export function wiring(): typeof wired {
  let open: Wired[] = [];
  afterEach(async () => {
    await Promise.all(open.map(({ server }) => server.close()));
    open = [];
  });
  return async (...args) => {
    const made = await wired(...args);
    open.push(made);
    return made;
  };
}
