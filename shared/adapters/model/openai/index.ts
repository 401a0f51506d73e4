// OpenAI's models, and servers that speak as it does. Which interface a question goes to is the role's to say (`api`), else the base URL's (options.ts).
import type { ModelRequest } from "../../../core/messages.ts";
import type { Model } from "../../../ports/model.ts";
import { createOpenAiChat } from "./chat.ts";
import { createClient, type OpenAiSettings } from "./client.ts";
import { apiOf } from "./options.ts";
import { createOpenAiResponses } from "./responses.ts";

export type { OpenAiSettings } from "./client.ts";

export function createOpenAi(settings: OpenAiSettings): Model {
  const client = createClient(settings);
  const apis = { chat: createOpenAiChat(settings, client), responses: createOpenAiResponses(settings, client) };
  const of = ({ options }: ModelRequest): Model => apis[apiOf(options, settings.baseURL)];
  return {
    ask: (request, signal, context) => of(request).ask(request, signal, context),
    reattaches: (request) => of(request).reattaches?.(request) ?? false,
  };
}
