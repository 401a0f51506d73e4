// An answer of the Responses API, whole or put together from its stream.
import { APIError } from "openai";
import { canonical, type Json, toJson } from "../../../core/json.ts";
import type { AssistantPart, ModelResponse, StopReason, Usage } from "../../../core/messages.ts";
import type { Delta } from "../../../ports/model.ts";
import { BadAnswer } from "./failures.ts";
import { type Note, notePart, type Origin } from "./reasoning.ts";
import { toolUse } from "./tool-use.ts";
import { usageOf } from "./usage.ts";

/** The API's response object, as far as it is looked at: new members and kinds of items may come at any time. */
export interface WireResponse {
  readonly id: string;
  readonly status: string;
  readonly output: readonly WireItem[];
  readonly model?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
  readonly incomplete_details?: { readonly reason?: unknown } | null;
}
type WireItem = Readonly<Record<string, Json>>;

/** @throws BadAnswer where it is none. */
export function readResponse(body: unknown): WireResponse {
  const { object, id, status, output } = (body ?? {}) as Record<string, unknown>;
  if (object !== "response" || typeof id !== "string" || typeof status !== "string" || !Array.isArray(output))
    throw new BadAnswer("The provider answered 200 with something that is no response.");
  return body as WireResponse;
}

export const isOpen = ({ status }: WireResponse): boolean => status === "queued" || status === "in_progress";

/** @throws APIError, BadAnswer where it failed. */
export function responseOf(wire: WireResponse, origin: Origin): ModelResponse {
  const { status, error, output } = wire;
  if (status === "failed") throw new APIError(undefined, toObject(error), undefined, undefined);
  if (status !== "completed" && status !== "incomplete")
    throw new BadAnswer(`The provider ended its answer as "${status}".`);
  const cut = status === "incomplete";
  const noted = output.some(({ type, phase }) => isHeld(String(type)) || typeof phase === "string");
  const content = output.flatMap((item) => partsOf(item, { noted, cut, origin }));
  const refused = output.some(({ content: parts }) => listOf(parts).some((part) => fieldsOf(part).type === "refusal"));
  const usage = toJson(wire.usage ?? null);
  return {
    content,
    stopReason: refused ? "refusal" : stopOf(wire, content),
    usage: readUsage(fieldsOf(usage)),
    ...(usage === null ? {} : { rawUsage: usage }),
    ...(typeof wire.model === "string" ? { servedBy: wire.model } : {}),
  };
}

/** What an answer says that it used, failed ones too; null: nothing. */
export const usedBy = ({ usage }: WireResponse): Usage | null =>
  usage === undefined || usage === null ? null : readUsage(fieldsOf(toJson(usage)));

/** Kept whole, since only the provider can read it: all but what is said and called. */
const isHeld = (type: string): boolean => type !== "message" && type !== "function_call";

interface Answering {
  /** Each item's id is kept: something in the answer goes back only with what followed it. */
  readonly noted: boolean;
  readonly cut: boolean;
  readonly origin: Origin;
}

function partsOf(item: WireItem, { noted, cut, origin }: Answering): AssistantPart[] {
  const type = String(item.type);
  if (isHeld(type)) return [notePart({ kind: "item", item: toJson(item) as WireItem, cut }, origin)];
  const parts = type === "message" ? textsOf(item.content) : [callOf(item)];
  if (!noted) return parts;
  const [first] = parts; // none: a blank text, of which the note says that it was there
  const text = item.arguments;
  const kept = first?.type === "toolUse" && typeof text === "string" && text !== canonical(first.args) ? text : null;
  const phase = typeof item.phase === "string" ? item.phase : null;
  const next: Note = { kind: "next", id: String(item.id ?? ""), phase, arguments: kept };
  return [notePart(next, origin), ...parts];
}

const callOf = ({ call_id, name, arguments: given }: WireItem): AssistantPart =>
  toolUse(String(call_id ?? ""), String(name ?? ""), given);

/** No blank text is ever recorded (c7). */
function textsOf(content: Json | undefined): AssistantPart[] {
  const texts = listOf(content).map((part) => {
    const { text, refusal } = fieldsOf(part);
    return typeof text === "string" ? text : typeof refusal === "string" ? refusal : "";
  });
  return texts.join("").trim() === "" ? [] : [{ type: "text", text: texts.join("") }];
}

function stopOf({ status, incomplete_details: details }: WireResponse, content: readonly AssistantPart[]): StopReason {
  if (status === "incomplete") return details?.reason === "content_filter" ? "refusal" : "maxTokens";
  return content.some(({ type }) => type === "toolUse") ? "toolUse" : "end";
}

function readUsage({ input_tokens, input_tokens_details, output_tokens, output_tokens_details }: WireItem) {
  const { cached_tokens, cache_write_tokens } = fieldsOf(input_tokens_details);
  return usageOf({
    input: input_tokens,
    cached: cached_tokens,
    written: cache_write_tokens,
    output: output_tokens,
    reasoning: fieldsOf(output_tokens_details).reasoning_tokens,
  });
}

/** Of the stream's events those that say something new; the rest repeats it. */
const WANTED =
  /^(response\.(created|queued|in_progress|completed|incomplete|failed|cancelled|output_item\.done)|response\.(output_text|refusal|reasoning_summary_text|reasoning_text)\.delta|response\.reasoning_summary_part\.added)$/;
export const isWanted = (name: string): boolean => WANTED.test(name);

interface StreamEvent {
  readonly type?: unknown;
  readonly response?: unknown;
  readonly item?: WireItem;
  readonly output_index?: unknown;
  readonly summary_index?: unknown;
  readonly delta?: unknown;
}

/**
 * The whole response at the stream's end. `accepted` hears the response's id once, and is waited for.
 * @throws BadAnswer where the stream ended before.
 */
export async function gather(
  events: AsyncIterable<object>,
  show: (delta: Delta) => void,
  accepted: (id: string) => Promise<void>,
): Promise<WireResponse> {
  const items = new Map<number, WireItem>();
  let known = false;
  for await (const event of events as AsyncIterable<StreamEvent>) {
    const type = String(event.type);
    if (event.response !== undefined) {
      const { id } = (event.response ?? {}) as { readonly id?: unknown };
      if (!known && typeof id === "string") {
        known = true;
        await accepted(id);
      }
      if (/\.(completed|incomplete|failed|cancelled)$/.test(type)) return ended(event.response, items);
    } else if (type === "response.output_item.done" && event.item !== undefined)
      items.set(Number(event.output_index ?? items.size), event.item);
    else {
      const delta = deltaOf(type, event);
      if (delta !== null) show(delta);
    }
  }
  throw new BadAnswer("The provider's answer broke off before its end.");
}

function deltaOf(type: string, { delta, summary_index: index }: StreamEvent): Delta | null {
  if (type === "response.reasoning_summary_part.added")
    return Number(index) > 0 ? { type: "reasoning", text: "\n\n" } : null;
  if (typeof delta !== "string" || delta === "") return null;
  return { type: type.startsWith("response.reasoning") ? "reasoning" : "text", text: delta };
}

/** Items as they were when each was done: that is where reasoning is whole. Some servers' last event holds none. */
function ended(body: unknown, items: ReadonlyMap<number, WireItem>): WireResponse {
  const wire = readResponse(body);
  if (items.size < wire.output.length) return wire;
  return { ...wire, output: [...items].sort(([a], [b]) => a - b).map(([, item]) => item) };
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const fieldsOf = (value: Json | undefined): WireItem =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as WireItem) : {};
const toObject = (error: unknown): object =>
  typeof error === "object" && error !== null
    ? error
    : { message: "The answer failed, and the provider doesn't say why." };
