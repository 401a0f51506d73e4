// OpenAI's Responses API. Streamed, since a long answer's connection would time out otherwise; nothing is kept at the provider, unless a role asks for
// answers in the background, which another worker can fetch (background.ts).
import type OpenAI from "openai";
import { MODEL_SILENCE_MS, MODEL_TIMEOUT_MS } from "../../../core/limits.ts";
import type { AskContext, Delta, Model, ModelAnswer } from "../../../ports/model.ts";
import type { Asked } from "../ask-legally.ts";
import { failure } from "../failure.ts";
import { createSilence, type Silence } from "../silence.ts";
import { askInBackground, ended, fetchAccepted } from "./background.ts";
import { createClient, type OpenAiSettings } from "./client.ts";
import { type Complaint, complaintOf, failureOf, stopped } from "./failures.ts";
import { mediaLimits, readFiles } from "./files.ts";
import { createLearned } from "./leave-out.ts";
import { createWatch, type Line, NOBODY } from "./line.ts";
import { isBackground } from "./options.ts";
import { gather, isWanted, readResponse, type WireResponse } from "./responses-answer.ts";
import { type ResponsesDraft, responsesDraft } from "./responses-request.ts";
import { eventsOf, isEventStream, readJson } from "./wire.ts";

export function createOpenAiResponses(settings: OpenAiSettings, client = createClient(settings)): Model {
  const learned = createLearned();

  return {
    reattaches: ({ options }) => isBackground(options),
    ask: async (request, signal, context = NOBODY): Promise<ModelAnswer> => {
      if (context.reattach !== undefined && isBackground(request.options))
        return await fetchAccepted({ client, settings, signal }, context.reattach, "begunElsewhere");
      const read = await readFiles(request.messages, mediaLimits(settings.model, true), signal, context);
      if (!read.ok) return read;
      const question = { settings, request, messages: read.messages, watched: context.watched === true };
      return await learned.ask(request, {
        draft: (leftOut) => responsesDraft(question, leftOut),
        ask: (draft) => askOnce({ client, settings, signal }, draft, context),
      });
    },
  };
}

/** One request. A watcher who saw part of an answer that failed is told that it is void. */
async function askOnce(line: Line, draft: ResponsesDraft, context: AskContext): Promise<Asked<Complaint>> {
  if (draft.background) return await askInBackground(line, draft, context);
  const { settings, signal } = line;
  const ms = draft.stream ? (settings.silenceMs ?? MODEL_SILENCE_MS) : MODEL_TIMEOUT_MS;
  const watch = createWatch(context.onDelta);
  const silence = createSilence(signal, ms);
  try {
    const wire = await answer(line.client, draft, silence, watch.show);
    const read = ended(wire, line, false);
    if (!read.ok) watch.void();
    return read;
  } catch (thrown) {
    watch.void();
    if (signal.aborted) return { ok: false, failure: stopped(), refusal: null };
    if (!silence.isOver()) return { ok: false, failure: failureOf(thrown, settings), refusal: complaintOf(thrown) };
    const words = `The provider sent nothing for ${ms / 1000} s.`;
    return { ok: false, failure: failure("model.unavailable", words, true), refusal: null };
  } finally {
    silence.end();
  }
}

async function answer(
  client: OpenAI,
  { body }: ResponsesDraft,
  silence: Silence,
  show: (delta: Delta) => void,
): Promise<WireResponse> {
  const response = await client.post("/responses", { body, signal: silence.signal }).asResponse();
  silence.broken();
  return isEventStream(response)
    ? await gather(eventsOf(response, silence.broken, isWanted), show, async () => {})
    : readResponse(await readJson(response));
}
