// A model on the wire, for the tests of its adapter: what they all need to ask it something.
import { createOpenAi } from "../../../../shared/adapters/model/openai/index.ts";
import type {
  AssistantPart,
  Message,
  ModelRequest,
  ModelResponse,
  UserPart,
} from "../../../../shared/core/messages.ts";
import { modelResponse } from "../../../../shared/core/messages.ts";
import type { AskContext, Delta, Model, ModelAnswer, ModelFailure } from "../../../../shared/ports/model.ts";
import { type Call, createWireOpenAi, type InputItem, type WireOpenAi, type WireOpenAiOptions } from "./index.ts";

export interface Asking {
  readonly wire: WireOpenAi;
  readonly model: Model;
  /** What watchers were shown, over all questions. */
  readonly deltas: Delta[];
  ask(request?: Partial<ModelRequest>, context?: Partial<AskContext>, signal?: AbortSignal): Promise<ModelAnswer>;
  /** Fit to be recorded; throws where it failed. */
  answer(request?: Partial<ModelRequest>, context?: Partial<AskContext>): Promise<ModelResponse>;
  failure(request?: Partial<ModelRequest>, context?: Partial<AskContext>): Promise<ModelFailure>;
  /** The last that came, or the n-th. */
  sent(n?: number): Call;
}

export interface AskingOptions extends Partial<WireOpenAiOptions> {
  readonly model?: string;
  /** Reached as a server under a base URL; default: as OpenAI itself. */
  readonly server?: true;
  readonly key?: string;
  readonly silenceMs?: number;
}

const OPENAI = "https://api.openai.com/v1";
const real = globalThis.fetch;
const open: WireOpenAi[] = [];

/** Of a test file: its servers, and the way to OpenAI. */
export async function closeAll(): Promise<void> {
  globalThis.fetch = real;
  await Promise.all(open.splice(0).map((wire) => wire.close()));
}

/** What is meant for OpenAI goes to the server of the test that asks: its key says which. */
const routes = new Map<string, string>();
function route(url: Parameters<typeof fetch>[0], init: Parameters<typeof fetch>[1]): ReturnType<typeof fetch> {
  const key = new Headers(init?.headers).get("authorization") ?? "";
  return real(String(url).replace(OPENAI, routes.get(key) ?? "http://127.0.0.1:9"), init);
}

export const user = (...parts: readonly (string | UserPart)[]): Message => ({
  role: "user",
  content: parts.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)),
});
export const assistant = (...content: readonly AssistantPart[]): Message => ({ role: "assistant", content });
export const result = (toolUseId: string, text = "ok"): UserPart => ({
  type: "toolResult",
  toolUseId,
  text,
  isError: false,
});
export const use = (id: string, name = "look", args = {}): AssistantPart => ({ type: "toolUse", id, name, args });

export const REQUEST: ModelRequest = {
  model: "openai/any",
  system: "You are brief.",
  tools: [{ name: "look", description: "Looks.", inputSchema: { type: "object", properties: {} } }],
  messages: [user("Hi.")],
  maxTokens: 64,
  options: {},
};

export async function asking(options: AskingOptions = {}): Promise<Asking> {
  const {
    model: name = "gpt-5-mini",
    server,
    key = `sk-${open.length}-${Math.random()}`,
    silenceMs,
    ...rest
  } = options;
  const wire = await createWireOpenAi({ script: () => "Hello.", ...rest });
  open.push(wire);
  if (server === undefined) {
    routes.set(`Bearer ${key}`, wire.baseURL);
    globalThis.fetch = route;
  }
  const settings = { model: name, apiKey: key, baseURL: server && wire.baseURL, pollMs: 5 };
  const model = createOpenAi({ ...settings, ...(silenceMs === undefined ? {} : { silenceMs }) });
  const deltas: Delta[] = [];
  const ask: Asking["ask"] = (request = {}, context = {}, signal = new AbortController().signal) =>
    model.ask({ ...REQUEST, ...request }, signal, {
      media: async () => null,
      ...context,
      ...(context.onDelta === undefined ? {} : { onDelta: (delta) => void deltas.push(delta) }),
    });
  return {
    wire,
    model,
    deltas,
    ask,
    answer: async (request, context) => {
      const answered = await ask(request, context);
      if (!answered.ok) throw new Error(answered.failure.error.message);
      return modelResponse.parse(answered.response);
    },
    failure: async (request, context) => {
      const answered = await ask(request, context);
      if (answered.ok) throw new Error("it was answered");
      return answered.failure;
    },
    sent: (n = wire.ledger.length - 1) => {
      const call = wire.ledger[n];
      if (call === undefined) throw new Error("nothing was sent");
      return call;
    },
  };
}

/** Pass as `onDelta`: what is shown stands in `deltas`. */
export const WATCHED = { onDelta: (): void => {}, watched: true };

/** The kinds of an input's items, with what matters of each. */
export const kinds = (call: Call): string[] => call.body.input.map((item: InputItem) => kind(item));
const kind = (item: InputItem): string =>
  "role" in item
    ? `${item.role}${"id" in item ? "#" : ""}`
    : `${item.type ?? ""}${"id" in item && item.id !== undefined ? "#" : ""}`;
