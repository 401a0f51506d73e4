// OpenAI's chat completions, and whatever speaks them under a base URL (Ollama, vLLM, gateways, `toren model-server`). OpenAI itself is always asked for a
// stream: a long answer's connection would time out otherwise. Other servers differ in what they stream, so they are where somebody watches, and where one
// turned out to take longer than a whole answer can be waited for.
import type OpenAI from "openai";
import { MODEL_SILENCE_MS, MODEL_TIMEOUT_MS } from "../../../core/limits.ts";
import type { ModelResponse, Usage } from "../../../core/messages.ts";
import type { AskContext, Model, ModelAnswer, ModelFailure } from "../../../ports/model.ts";
import type { Asked } from "../ask-legally.ts";
import { failure, withUsage } from "../failure.ts";
import { createSilence, type Silence } from "../silence.ts";
import { completionOf, gatherChunks, usedBy } from "./chat-answer.ts";
import { type ChatDraft, chatDraft } from "./chat-request.ts";
import { createClient, type OpenAiSettings } from "./client.ts";
import { type Complaint, complaintOf, failureOf, stopped, wasTooSlow } from "./failures.ts";
import { mediaLimits, readFiles } from "./files.ts";
import { createLearned } from "./leave-out.ts";
import { createWatch, type Line, NOBODY, type Watch } from "./line.ts";
import { eventsOf, isEventStream, readJson } from "./wire.ts";

export function createOpenAiChat(settings: OpenAiSettings, client: OpenAI = createClient(settings)): Model {
  const learned = createLearned();
  let slow = false;

  return {
    ask: async (request, signal, context = NOBODY): Promise<ModelAnswer> => {
      const limits = mediaLimits(settings.model, !settings.baseURL);
      const read = await readFiles(request.messages, limits, signal, context);
      if (!read.ok) return read;
      const question = { settings, request, messages: read.messages, watched: context.watched === true };
      return await learned.ask(request, {
        draft: (leftOut) => chatDraft(question, slow, leftOut),
        ask: (draft) =>
          askOnce({ client, settings, signal }, draft, context, () => {
            slow = true;
          }),
      });
    },
  };
}

/** One request. A watcher who saw part of an answer that failed is told that it is void. */
async function askOnce(
  line: Line,
  draft: ChatDraft,
  context: AskContext,
  tooSlow: () => void,
): Promise<Asked<Complaint>> {
  const { settings, signal } = line;
  const ms = draft.stream ? (settings.silenceMs ?? MODEL_SILENCE_MS) : MODEL_TIMEOUT_MS;
  const watch = createWatch(context.onDelta);
  const silence = createSilence(signal, ms);
  let used: Usage | null = null;
  const heard = (body: object): void => {
    used = usedBy(body) ?? used; // some servers count in every chunk
  };
  const failed = (found: ModelFailure, refusal: Complaint | null = null): Asked<Complaint> => ({
    ok: false,
    failure: withUsage(found, used),
    refusal,
  });
  try {
    return { ok: true, response: await answer(line, draft, silence, { watch, heard }) };
  } catch (thrown) {
    watch.void();
    if (signal.aborted) return failed(stopped());
    if (wasTooSlow(thrown)) tooSlow();
    if (!silence.isOver()) return failed(failureOf(thrown, settings), complaintOf(thrown));
    const words = `The provider sent nothing for ${ms / 1000} s.`;
    return failed(failure("model.unavailable", words, true));
  } finally {
    silence.end();
  }
}

async function answer(
  { client, settings: { model } }: Line,
  { body }: ChatDraft,
  silence: Silence,
  { watch, heard }: { readonly watch: Watch; readonly heard: (body: object) => void },
): Promise<ModelResponse> {
  const response = await client.post("/chat/completions", { body, signal: silence.signal }).asResponse();
  silence.broken();
  if (isEventStream(response))
    return completionOf(await gatherChunks(eventsOf(response, silence.broken), watch.show, heard), model);
  const said = await readJson(response);
  heard(said as object);
  const whole = completionOf(said, model);
  for (const part of whole.content) if (part.type === "text") watch.show(part);
  return whole;
}
