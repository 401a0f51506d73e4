// An HTTP answer, read: server-sent events as they come in, or JSON as a whole. What says 200 can still be a page of a proxy's, or break off.
import { APIError } from "openai";
import { pageWords } from "./client.ts";
import { BadAnswer } from "./failures.ts";

export const isEventStream = (response: Response): boolean =>
  /event-stream/i.test(response.headers.get("content-type") ?? "");

/** @throws BadAnswer where it is none. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    const body: unknown = JSON.parse(text);
    throwError(body, response.headers);
    return body;
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
    const start = pageWords(text);
    throw new BadAnswer(
      `The provider answered with something else than JSON${start === "" ? ": nothing" : `: ${start}`}`,
    );
  }
}

/**
 * The events' data, parsed, to the stream's end or its `[DONE]`. `heard` is called for every byte, comments included: they are signs of life. Of events whose
 * name `wanted` doesn't want the data isn't parsed: the end of a long answer repeats all of it several times.
 * @throws APIError where the server says that it failed, SyntaxError where the data is no JSON.
 */
export async function* eventsOf(
  response: Response,
  heard: () => void,
  wanted: (name: string) => boolean = () => true,
): AsyncGenerator<object> {
  let name = "";
  let data: string[] = [];
  for await (const line of linesOf(response, heard)) {
    if (line !== "") {
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
      if (field === "event") name = value;
      else if (field === "data") data.push(value);
      continue;
    }
    const [text, event] = [data.join("\n"), name];
    [data, name] = [[], ""];
    if (text === "[DONE]") return; // a connection that stays open after it is not waited for
    if (text === "" || (event !== "" && event !== "error" && !wanted(event))) continue;
    const parsed: unknown = JSON.parse(text);
    if (event === "error")
      throw new APIError(undefined, errorIn(parsed) ?? toObject(parsed), undefined, response.headers);
    throwError(parsed, response.headers);
    if (typeof parsed === "object" && parsed !== null) yield parsed;
  }
}

/** An error under status 200: before a stream, in it, or instead of an answer. */
function throwError(body: unknown, headers: Headers): void {
  const error = errorIn(body);
  if (error !== null) throw new APIError(undefined, error, undefined, headers);
}

function errorIn(body: unknown): object | null {
  if (typeof body !== "object" || body === null) return null;
  const { error, type, object } = body as Record<string, unknown>;
  if (type === "error" || object === "error") return toObject(error ?? body);
  const isAnswer = object === "response" || "choices" in body; // those hold an error member of their own
  return !isAnswer && error !== undefined && error !== null ? toObject(error) : null;
}

const toObject = (error: unknown): object =>
  typeof error === "object" && error !== null ? error : { message: String(error) };

/** Lines of a body, ended by LF, CR or both; in time that grows with its length alone, however long a line is. */
async function* linesOf(response: Response, heard: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let open: string[] = [];
  let afterReturn = false;
  for await (const chunk of response.body ?? []) {
    heard();
    const text = decoder.decode(chunk as Uint8Array, { stream: true });
    let start = 0;
    for (let at = nextBreak(text, 0); at >= 0; at = nextBreak(text, at + 1)) {
      const second = text[at] === "\n" && at === start && open.length === 0 && afterReturn; // the other half of a CRLF
      if (!second) {
        open.push(text.slice(start, at));
        yield open.join("");
        open = [];
      }
      afterReturn = text[at] === "\r";
      start = at + 1;
    }
    if (start < text.length) {
      open.push(text.slice(start));
      afterReturn = false;
    }
  }
  yield open.join("") + decoder.decode();
  yield ""; // some servers leave out the last line that ends an event
}

const BREAK = /[\r\n]/g;

function nextBreak(text: string, from: number): number {
  BREAK.lastIndex = from;
  return BREAK.exec(text)?.index ?? -1;
}
