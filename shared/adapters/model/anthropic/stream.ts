// The provider's stream of events.
import { APIError } from "@anthropic-ai/sdk";
import { Stream } from "@anthropic-ai/sdk/core/streaming";
import { MODEL_ERROR_PAGE_CHARS } from "../../../core/limits.ts";
import { withoutTags } from "../failure.ts";
import type { Silence } from "../silence.ts";
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
  const start = withoutTags(await response.text())
    .slice(0, MODEL_ERROR_PAGE_CHARS)
    .toWellFormed();
  return `The provider answered with ${type === "" ? "nothing that says what it is" : type} instead of a stream${start === "" ? "" : `: ${start}`}`;
}
