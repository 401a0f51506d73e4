// An answer that the provider makes and keeps, whoever listens. Its id is recorded before it is waited for, so that another worker can fetch what this one
// began: it is paid once. It is never cancelled from here: who stops listening may be a worker that hands it on.
import { setTimeout as sleep } from "node:timers/promises";
import { MODEL_POLL_MAX_MS, MODEL_POLL_MS, MODEL_SILENCE_MS, MODEL_TRIES } from "../../../core/limits.ts";
import type { AskContext, ModelFailure } from "../../../ports/model.ts";
import type { Asked } from "../ask-legally.ts";
import { failure, withUsage } from "../failure.ts";
import { createSilence } from "../silence.ts";
import { PAGE } from "./client.ts";
import { type Complaint, complaintOf, failureOf, stopped } from "./failures.ts";
import { createWatch, type Line } from "./line.ts";
import { gather, isOpen, isWanted, readResponse, responseOf, usedBy, type WireResponse } from "./responses-answer.ts";
import type { ResponsesDraft } from "./responses-request.ts";
import { eventsOf, isEventStream, readJson } from "./wire.ts";

/** What the engine threw when it was told of the id: its own affair. */
class NotKept extends Error {}

/** `draft` asks for it in the background. */
export async function askInBackground(
  line: Line,
  draft: ResponsesDraft,
  context: AskContext,
): Promise<Asked<Complaint>> {
  const { settings, signal } = line;
  const watch = createWatch(context.onDelta);
  let id: string | null = null;
  const accepted = async (ref: string): Promise<void> => {
    try {
      await context.onAccepted?.(ref);
      id = ref;
    } catch (cause) {
      throw new NotKept("the id was not kept", { cause });
    }
  };
  const silence = createSilence(signal, settings.silenceMs ?? MODEL_SILENCE_MS);
  try {
    const response = await line.client.post("/responses", { body: draft.body, signal: silence.signal }).asResponse();
    silence.broken();
    if (isEventStream(response))
      return ended(await gather(eventsOf(response, silence.broken, isWanted), watch.show, accepted), line);
    const wire = readResponse(await readJson(response));
    await accepted(wire.id);
    if (!isOpen(wire)) return ended(wire, line);
  } catch (thrown) {
    if (thrown instanceof NotKept) throw thrown.cause;
    if (id === null) {
      watch.void();
      if (signal.aborted) return { ok: false, failure: stopped(), refusal: null };
      return { ok: false, failure: failureOf(thrown, settings), refusal: complaintOf(thrown) };
    }
    // else the stream broke off, and the answer is made all the same
  } finally {
    silence.end();
  }
  const fetched = await fetchAccepted(line, id as unknown as string, "begunHere");
  if (!fetched.ok) watch.void();
  return fetched;
}

/** What came of an answer that is over. `stored`: the provider keeps it. */
export function ended(wire: WireResponse, { settings }: Line, stored = true): Asked<Complaint> {
  try {
    return { ok: true, response: responseOf(wire, { model: settings.model, stored }) };
  } catch (thrown) {
    const failed = withUsage(failureOf(thrown, settings), usedBy(wire));
    return { ok: false, failure: failed, refusal: complaintOf(thrown) };
  }
}

/** Looks until the answer is there, or a look fails: when to look again is then the engine's affair, as with any outage. */
export async function fetchAccepted(
  line: Line,
  id: string,
  whose: "begunHere" | "begunElsewhere",
): Promise<Asked<Complaint>> {
  const { settings, signal } = line;
  let waitMs = settings.pollMs ?? MODEL_POLL_MS;
  for (let misses = 0; ; ) {
    const looked = await look(line, id);
    if (looked.type === "ended") return looked.answer;
    if (signal.aborted) return unfinished(stopped());
    if (looked.type === "failed") return unfinished(looked.failure);
    if (looked.type === "unknown" && ++misses >= MODEL_TRIES) return gone(id, whose, settings); // it may take a moment to be found
    const pause = Math.min(MODEL_POLL_MAX_MS, looked.afterMs ?? waitMs);
    await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined); // stopped: the next look says so
    waitMs = Math.min(MODEL_POLL_MAX_MS, waitMs * 1.5);
  }
}

const unfinished = (failed: ModelFailure): Asked<Complaint> => ({
  ok: false,
  failure: { ...failed, goesOn: true },
  refusal: null,
});

function gone(id: string, whose: "begunHere" | "begunElsewhere", { baseURL }: Line["settings"]): Asked<Complaint> {
  const failed =
    whose === "begunHere" && baseURL
      ? failure(
          "model.bad_request",
          `The server accepted a background answer, ${id}, and doesn't keep it: leave out background.`,
          false,
        )
      : failure("model.unavailable", `The provider no longer has the answer ${id}: it is asked for anew.`, true);
  return { ok: false, failure: failed, refusal: null };
}

type Looked =
  | { readonly type: "ended"; readonly answer: Asked<Complaint> }
  | { readonly type: "open"; readonly afterMs: number | null }
  /** The provider knows of no such answer. */
  | { readonly type: "unknown"; readonly afterMs: null }
  | { readonly type: "failed"; readonly failure: ModelFailure };

async function look(line: Line, id: string): Promise<Looked> {
  const { client, settings, signal } = line;
  const silence = createSilence(signal, settings.silenceMs ?? MODEL_SILENCE_MS);
  try {
    const response = await client.get(`/responses/${encodeURIComponent(id)}`, { signal: silence.signal }).asResponse();
    const wire = readResponse(await readJson(response));
    return isOpen(wire)
      ? { type: "open", afterMs: afterMs(response.headers) }
      : { type: "ended", answer: ended(wire, line) };
  } catch (thrown) {
    const said = complaintOf(thrown);
    if (said?.status !== 404) return { type: "failed", failure: failureOf(thrown, settings) };
    if (said.type !== PAGE) return { type: "unknown", afterMs: null };
    return { type: "failed", failure: failure("model.unavailable", said.words, true) }; // a proxy's: it says nothing of the answer
  } finally {
    silence.end();
  }
}

/** When the provider wants to be asked again; null: it doesn't say. */
function afterMs(headers: Headers): number | null {
  const said = headers.get("openai-poll-after-ms");
  const ms = said === null ? Number.NaN : Number(said);
  return Number.isFinite(ms) && ms >= 0 ? ms : null;
}
