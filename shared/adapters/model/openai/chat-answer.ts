// An answer of chat completions, whole or put together from its chunks.
import { toJson } from "../../../core/json.ts";
import type { AssistantPart, ModelResponse, StopReason, Usage } from "../../../core/messages.ts";
import type { Delta } from "../../../ports/model.ts";
import { BadAnswer } from "./failures.ts";
import { notePart } from "./reasoning.ts";
import { toolUse } from "./tool-use.ts";
import { usageOf } from "./usage.ts";

/** As far as it is looked at; any member may be missing, or be something else, at some server. */
interface WireMessage {
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
  readonly [field: string]: unknown;
}
interface WireCompletion {
  readonly choices?: readonly ({ readonly message?: WireMessage | null; readonly finish_reason?: unknown } | null)[];
  readonly usage?: unknown;
  readonly model?: unknown;
}
interface WireCall {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown };
}

/** Where servers put reasoning that they show. */
const REASONING_FIELDS = ["reasoning_content", "reasoning"];

/** @throws BadAnswer where it is none. */
export function completionOf(body: unknown, model: string): ModelResponse {
  const { choices, usage, model: servedBy } = (body ?? {}) as WireCompletion;
  const choice = choices?.[0];
  if (!choice?.message) throw new BadAnswer("The provider answered 200 with something that is no completion.");
  const { message } = choice;
  const content: AssistantPart[] = REASONING_FIELDS.flatMap((field) => {
    const text = message[field];
    return typeof text === "string" && text !== ""
      ? [notePart({ kind: "text", field, text }, { model, stored: false })]
      : [];
  });
  for (const text of [message.content, message.refusal])
    if (typeof text === "string" && text.trim() !== "") content.push({ type: "text", text }); // c7
  for (const call of callsIn(message.tool_calls))
    content.push(toolUse(textOf(call.id), textOf(call.function?.name), call.function?.arguments)); // some servers leave out type and id
  return {
    content,
    stopReason: message.refusal ? "refusal" : stopOf(choice.finish_reason, content),
    usage: readUsage(usage),
    ...(usage === undefined ? {} : { rawUsage: toJson(usage) }),
    ...(typeof servedBy === "string" && servedBy !== "" ? { servedBy } : {}),
  };
}

function callsIn(given: unknown): readonly WireCall[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) throw new BadAnswer("The provider answered 200 with calls in a form that isn't known.");
  return given.filter((call: unknown): call is WireCall => "function" in fieldsOf(call));
}

/** Some servers say `stop` beside tool calls: the calls decide. */
function stopOf(reason: unknown, content: readonly AssistantPart[]): StopReason {
  if (reason === "length") return "maxTokens";
  if (reason === "content_filter") return "refusal";
  return content.some((p) => p.type === "toolUse") ? "toolUse" : "end";
}

/** What an answer, or a part of one, says that was used; null: nothing. */
export const usedBy = (body: unknown): Usage | null => {
  const { usage } = fieldsOf(body);
  return typeof usage === "object" && usage !== null ? readUsage(usage) : null;
};

function readUsage(usage: unknown) {
  const { prompt_tokens, prompt_tokens_details, completion_tokens, completion_tokens_details } = fieldsOf(usage);
  const { cached_tokens, cache_write_tokens } = fieldsOf(prompt_tokens_details);
  return usageOf({
    input: prompt_tokens,
    cached: cached_tokens,
    written: cache_write_tokens,
    output: completion_tokens,
    reasoning: fieldsOf(completion_tokens_details).reasoning_tokens,
  });
}

interface OpenCall {
  readonly id: string;
  name: string;
  readonly pieces: string[];
}

/**
 * The whole completion at the stream's end. `heard` gets every chunk. What breaks off after the answer has ended only costs the usage.
 * @throws BadAnswer where the stream ended before.
 */
export async function gatherChunks(
  events: AsyncIterable<object>,
  show: (delta: Delta) => void,
  heard: (chunk: object) => void,
): Promise<object> {
  const texts = new Map<string, string[]>();
  const calls: OpenCall[] = [];
  const byIndex = new Map<unknown, OpenCall>();
  let finish: unknown = null;
  let last: WireCompletion = {};
  const whole = (): object => ({
    ...last,
    choices: [
      {
        message: { ...Object.fromEntries([...texts].map(([k, v]) => [k, v.join("")])), tool_calls: calls.map(callOf) },
        finish_reason: finish,
      },
    ],
  });
  try {
    for await (const chunk of events as AsyncIterable<WireCompletion>) {
      const { usage, model } = chunk;
      heard(chunk);
      last = { ...last, ...(model ? { model } : {}), ...(usage ? { usage } : {}) };
      const choice = fieldsOf(chunk.choices?.[0]);
      const delta = fieldsOf(choice.delta);
      for (const field of ["content", "refusal", ...REASONING_FIELDS]) {
        const text = delta[field];
        if (typeof text !== "string" || text === "") continue;
        const pieces = texts.get(field) ?? [];
        pieces.push(text);
        texts.set(field, pieces);
        show({ type: REASONING_FIELDS.includes(field) ? "reasoning" : "text", text });
      }
      for (const call of callsIn(delta.tool_calls)) grow(call, calls, byIndex);
      finish = choice.finish_reason ?? finish;
    }
  } catch (thrown) {
    if (finish === null) throw thrown;
  }
  if (finish === null) throw new BadAnswer("The provider's answer broke off before its end.");
  return whole();
}

/** A call's pieces have its index; some servers give every call the same one, and each an id of its own. */
function grow({ index = 0, id, function: given }: WireCall, calls: OpenCall[], byIndex: Map<unknown, OpenCall>): void {
  let open = byIndex.get(index);
  const named = textOf(id);
  if (open === undefined || (named !== "" && named !== open.id)) {
    open = { id: named, name: "", pieces: [] };
    byIndex.set(index, open);
    calls.push(open);
  }
  open.name ||= textOf(given?.name);
  const piece = given?.arguments;
  if (piece !== undefined && piece !== null)
    open.pieces.push(typeof piece === "string" ? piece : JSON.stringify(piece));
}

const callOf = ({ id, name, pieces }: OpenCall): WireCall => ({ id, function: { name, arguments: pieces.join("") } });

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
