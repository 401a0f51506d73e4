// The provider's stream of events, and the silence in which it is given up.
import { APIError } from "@anthropic-ai/sdk";
import { Stream } from "@anthropic-ai/sdk/core/streaming";
import { MODEL_ERROR_PAGE_CHARS } from "../../../core/limits.ts";
import { BadAnswer } from "./failures.ts";

/** The stream's events, pings included: each is a sign of life. */
export async function* eventsOf(response: Response, silence: Silence): AsyncGenerator<object> {
  const type = response.headers.get("content-type") ?? "";
  if (!/event-stream/i.test(type)) throw new BadAnswer(await notAStream(response, type));
  for await (const { event, data } of Stream.rawEvents(response, silence.controller)) {
    silence.broken();
    if (data === "") continue;
    const parsed: unknown = JSON.parse(data);
    if (typeof parsed !== "object" || parsed === null) continue;
    if (event === "error" || ("type" in parsed && parsed.type === "error")) throw errorEvent(parsed, response.headers);
    yield parsed;
    if ("type" in parsed && parsed.type === "message_stop") return; // a connection that stays open after it is not waited for
  }
}

/** As Anthropic's SDK has it: no status, since the one that came said 200. */
const errorEvent = (body: object, headers: Headers): APIError => new APIError(undefined, body, undefined, headers);

async function notAStream(response: Response, type: string): Promise<string> {
  const text = (await response.text())
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  const start = text.slice(0, MODEL_ERROR_PAGE_CHARS).toWellFormed();
  return `The provider answered with ${type === "" ? "nothing that says what it is" : type} instead of a stream${start === "" ? "" : `: ${start}`}`;
}

export interface Silence {
  readonly controller: AbortController;
  /** Something came. */
  broken(): void;
  isOver(): boolean;
  end(): void;
}

/** Aborts when nothing came for `ms`, or when `outer` does. */
export function createSilence(outer: AbortSignal, ms: number): Silence {
  const controller = new AbortController();
  let over = false;
  const timer = setTimeout(() => {
    over = true;
    controller.abort();
  }, ms);
  const stop = (): void => controller.abort();
  if (outer.aborted) stop();
  else outer.addEventListener("abort", stop, { once: true });
  return {
    controller,
    broken: () => void timer.refresh(),
    isOver: () => over,
    end: () => {
      clearTimeout(timer);
      outer.removeEventListener("abort", stop);
    },
  };
}
