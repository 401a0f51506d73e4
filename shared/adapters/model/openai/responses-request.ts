// From a question to the body of a Responses request. Nothing stands in it that a role didn't ask for and a newer model could refuse.
import { createHash } from "node:crypto";
import type OpenAI from "openai";
import { canonical, type Json, toJson } from "../../../core/json.ts";
import { OPENAI_OUTPUT_TOKENS_MIN } from "../../../core/limits.ts";
import type { ModelRequest } from "../../../core/messages.ts";
import type { ReadyMessage } from "../media.ts";
import type { OpenAiSettings } from "./client.ts";
import { familyOf } from "./families.ts";
import { itemsOf } from "./items.ts";
import type { Draft, LeftOut } from "./leave-out.ts";
import { isBackground, objectOf } from "./options.ts";
import { answerSchema, wireFunction } from "./schemas.ts";

export type ResponsesBody = OpenAI.Responses.ResponseCreateParams;

export interface ResponsesDraft extends Draft {
  readonly body: ResponsesBody;
  /** The provider makes and keeps the answer, whoever listens. */
  readonly background: boolean;
}

export interface Question {
  readonly settings: Pick<OpenAiSettings, "model" | "baseURL">;
  readonly request: ModelRequest;
  /** Those of the request, their files read. */
  readonly messages: readonly ReadyMessage[];
  /** Somebody wants to see the answer while it is made. */
  readonly watched: boolean;
}

export function responsesDraft({ settings, request, messages, watched }: Question, leftOut: LeftOut): ResponsesDraft {
  const { model, baseURL } = settings;
  const {
    api: _,
    background: __,
    tools: hosted,
    text,
    include,
    tool_choice,
    parallel_tool_calls,
    ...options
  } = objectOf(request.options);
  const background = isBackground(request.options);
  const { input, files, reasoning } = itemsOf(messages, {
    model,
    storing: background,
    filesInResults: !baseURL,
    leftOut,
  });
  const tools = [
    ...request.tools.map((tool) => ({ type: "function" as const, ...wireFunction(tool), strict: false })),
    ...listOf(hosted),
  ];
  const schema = leftOut.schema ? null : answerSchema(request.outputSchema);
  // What the provider doesn't keep it has to give us; what it keeps it refuses to give
  const encrypted = !background && !leftOut.encrypted && familyOf(model)?.efforts?.length !== 0;
  const stream = !leftOut.stream && (!background || watched); // unwatched, it is looked at now and then
  const body = {
    model,
    input,
    ...(request.system.trim() === "" ? {} : { instructions: request.system }),
    max_output_tokens: Math.max(OPENAI_OUTPUT_TOKENS_MIN, request.maxTokens),
    ...(tools.length === 0 ? {} : { tools, ...given({ tool_choice, parallel_tool_calls }) }),
    ...textOf(text, schema),
    store: background,
    ...includeOf(include, encrypted),
    ...(baseURL ? {} : { prompt_cache_key: cacheKey(request) }),
    ...options,
    ...(background ? { background } : {}),
    stream,
  };
  const draft = { reasoning, encrypted, schema: schema !== null, stream, streamOptions: false, files, background };
  return { ...draft, body: body as unknown as ResponsesBody };
}

function textOf(text: Json | undefined, schema: Record<string, unknown> | null): object {
  const format = schema === null ? {} : { format: { type: "json_schema", name: "output", schema, strict: false } };
  const config = { ...objectOf(text), ...format };
  return Object.keys(config).length === 0 ? {} : { text: config };
}

function includeOf(include: Json | undefined, encrypted: boolean): object {
  const wanted = new Set([...(encrypted ? ["reasoning.encrypted_content"] : []), ...listOf(include)]);
  return wanted.size === 0 ? {} : { include: [...wanted] };
}

/** Sends the calls of one conversation to where its beginning is cached, unlike those of others that begin alike. */
const cacheKey = ({ system, tools, messages }: ModelRequest): string =>
  createHash("sha256")
    .update(canonical(toJson([system, tools, messages[0] ?? null])))
    .digest("hex")
    .slice(0, 32);

const given = (options: Readonly<Record<string, Json | undefined>>): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
