// Claude, by Anthropic's Messages API or a server that speaks it. Always streamed: a long answer's connection would time out otherwise.
import type Anthropic from "@anthropic-ai/sdk";
import { messageOf } from "../../../core/errors.ts";
import { utf8Bytes } from "../../../core/json.ts";
import {
  ANTHROPIC_FILES_MAX,
  ANTHROPIC_IMAGE_BASE64_CHARS,
  ANTHROPIC_REQUEST_BYTES,
  MODEL_SILENCE_MS,
} from "../../../core/limits.ts";
import type { ModelRequest, ModelResponse } from "../../../core/messages.ts";
import type { AskContext, Delta, Model, ModelAnswer, ModelFailure } from "../../../ports/model.ts";
import { type Asked, askLegally } from "../ask-legally.ts";
import { failure, withUsage } from "../failure.ts";
import { bytesInBase64, type MediaLimits, type ReadyMessage, readMedia } from "../media.ts";
import { createSilence, type Silence } from "../silence.ts";
import { factsOf } from "../table.ts";
import { type Answer, createAnswer } from "./answer.ts";
import { createClient } from "./client.ts";
import { BadAnswer, failureOf, refusalOf } from "./failures.ts";
import { leaveOut } from "./leave-out.ts";
import { type Draft, draftOf, type LeftOut, NOTHING_LEFT_OUT } from "./request.ts";
import { eventsOf } from "./stream.ts";

export interface AnthropicModelOptions {
  /** As Anthropic names it: `claude-sonnet-5-5`. */
  readonly model: string;
  readonly apiKey: string;
  /** Undefined or empty: Anthropic's own. */
  readonly baseURL: string | undefined;
  /** The longest silence of the provider, before its answer and in it; default MODEL_SILENCE_MS. */
  readonly timeoutMs?: number;
}

export function createAnthropic({
  model,
  apiKey,
  baseURL,
  timeoutMs = MODEL_SILENCE_MS,
}: AnthropicModelOptions): Model {
  const client = createClient(apiKey, baseURL, timeoutMs);
  return {
    ask: async (request, signal, context): Promise<ModelAnswer> => {
      try {
        const messages = await readMedia(request.messages, mediaLimits(model, request), context?.media);
        return await askWithLess(client, { model, request, messages, timeoutMs, onDelta: context?.onDelta }, signal);
      } catch (thrown) {
        if (signal.aborted) return { ok: false, failure: stopped() };
        const words = `A file of the request could not be read: ${messageOf(thrown)}`;
        return { ok: false, failure: failure("model.unavailable", words, true) };
      }
    },
  };
}

interface Question {
  readonly model: string;
  readonly request: ModelRequest;
  readonly messages: readonly ReadyMessage[];
  readonly timeoutMs: number;
  readonly onDelta: AskContext["onDelta"] | undefined;
}

async function askWithLess(client: Anthropic, question: Question, signal: AbortSignal): Promise<ModelAnswer> {
  const { model, request, messages } = question;
  const { answer } = await askLegally<LeftOut, Draft, string>(NOTHING_LEFT_OUT, {
    draft: (leftOut) => draftOf(model, request, messages, leftOut),
    ask: (draft) => askOnce(client, question, draft, signal),
    without: leaveOut,
  });
  return answer;
}

/** One request. A watcher who saw part of an answer that failed is told that it is void. */
async function askOnce(
  client: Anthropic,
  question: Question,
  draft: Draft,
  signal: AbortSignal,
): Promise<Asked<string>> {
  const { model, timeoutMs, onDelta } = question;
  let shown = false;
  const show = (delta: Delta): void => {
    shown = true;
    onDelta?.(delta);
  };
  const silence = createSilence(signal, timeoutMs);
  const answer = createAnswer();
  const failed = (found: ModelFailure, refusal: string | null = null): Asked<string> => ({
    ok: false,
    failure: withUsage(found, answer.used()),
    refusal,
  });
  try {
    const response = await streamed(client, draft, silence, { answer, model, show });
    return { ok: true, response };
  } catch (thrown) {
    if (shown) onDelta?.({ type: "restart" });
    if (signal.aborted) return failed(stopped());
    if (!silence.isOver()) return failed(failureOf(thrown, model), refusalOf(thrown));
    return failed(failure("model.unavailable", `The provider sent nothing for ${timeoutMs / 1000} s.`, true));
  } finally {
    silence.end();
  }
}

async function streamed(
  client: Anthropic,
  { body, prefix }: Draft,
  silence: Silence,
  { answer, model, show }: { readonly answer: Answer; readonly model: string; readonly show: (delta: Delta) => void },
): Promise<ModelResponse> {
  const { signal } = silence;
  const response = await client.post("/v1/messages", { body, stream: true, signal }).asResponse();
  try {
    for await (const event of eventsOf(response, silence)) {
      const delta = answer.take(event);
      if (delta !== null) show(delta);
    }
    signal.throwIfAborted(); // an aborted stream may end as if it were whole
  } catch (thrown) {
    if (signal.aborted || answer.response({ model, prefix }) === null) throw thrown; // else all of it came, and is paid
  }
  const whole = answer.response({ model, prefix });
  if (whole === null) throw new BadAnswer("The provider's answer broke off before its end.");
  return whole;
}

const stopped = (): ModelFailure => failure("model.unavailable", "The call was stopped.", true);

function mediaLimits(model: string, request: ModelRequest): MediaLimits {
  const shows = request.messages.some(({ content }) =>
    content.some((part) => part.type === "media" || (part.type === "toolResult" && part.media !== undefined)),
  );
  const rest = shows ? utf8Bytes(JSON.stringify([request.system, request.tools, request.messages])) : 0;
  const million = (factsOf(`anthropic/${model}`).contextWindow ?? 0) >= 1_000_000;
  const all = bytesInBase64(Math.max(0, ANTHROPIC_REQUEST_BYTES - 2 * rest));
  return {
    imageTypes: ["image/jpeg", "image/png", "image/gif", "image/webp"],
    imageMaxBytes: bytesInBase64(ANTHROPIC_IMAGE_BASE64_CHARS),
    pdf: true,
    pdfMaxBytes: all,
    totalMaxBytes: all,
    filesMax: ANTHROPIC_FILES_MAX * (million ? 6 : 1),
  };
}
