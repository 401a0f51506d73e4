// A scripted model, for tests: what it answers is a function of the question, and its ledger counts what a provider would bill.
import type { Json } from "../../core/json.ts";
import { utf8Bytes } from "../../core/json.ts";
import type { ModelRequest, ModelResponse, StopReason, Usage } from "../../core/messages.ts";
import type { Model, ModelAnswer } from "../../ports/model.ts";

/** One answer: text; calls of tools; a refusal; a failed try; or a whole response. */
export type Turn =
  | string
  | {
      readonly tools: readonly { readonly name: string; readonly args: Json; readonly id?: string }[];
      readonly text?: string;
    }
  | { readonly refusal: true }
  | { readonly status: 401 | 429 | 529; readonly retryAfterMs?: number; readonly usage?: Usage }
  | { readonly response: ModelResponse };

export interface LedgerEntry {
  readonly n: number;
  readonly request: ModelRequest;
  answered: boolean;
}

export interface ScriptedModel extends Model {
  /** Every question that arrived, answered or not. */
  readonly ledger: readonly LedgerEntry[];
}

/** `respond` gets the question and how many came before it; it may wait, and so be interrupted. */
export function createScriptedModel(
  respond: (request: ModelRequest, n: number, signal: AbortSignal) => Turn | Promise<Turn>,
): ScriptedModel {
  const ledger: LedgerEntry[] = [];
  return {
    ledger,
    ask: async (request, signal) => {
      const entry: LedgerEntry = {
        n: ledger.length,
        request: { ...request, messages: [...request.messages] },
        answered: false,
      };
      ledger.push(entry);
      const turn = await respond(request, entry.n, signal);
      if (signal.aborted)
        return {
          ok: false,
          failure: { error: { code: "model.unavailable", message: "The call was stopped." }, retryable: true },
        };
      entry.answered = true;
      return answerOf(turn, request);
    },
  };
}

function answerOf(turn: Turn, request: ModelRequest): ModelAnswer {
  if (typeof turn !== "string" && "status" in turn) {
    const refused = turn.status === 401;
    const error = { code: refused ? "model.auth" : "model.unavailable", message: `status ${turn.status}` } as const;
    return {
      ok: false,
      failure: {
        error,
        retryable: !refused,
        ...(turn.status === 429 ? { throttled: true } : {}),
        ...(turn.retryAfterMs === undefined ? {} : { retryAfterMs: turn.retryAfterMs }),
        ...(turn.usage === undefined ? {} : { usage: turn.usage }),
      },
    };
  }
  if (typeof turn !== "string" && "response" in turn) return { ok: true, response: turn.response };
  if (typeof turn === "string") return { ok: true, response: response(request, [{ type: "text", text: turn }], "end") };
  if ("refusal" in turn)
    return { ok: true, response: response(request, [{ type: "text", text: "I can't help with that." }], "refusal") };
  const uses = turn.tools.map(({ name, args, id }, i) => ({
    type: "toolUse" as const,
    id: id ?? `call_${request.messages.length}_${i}`,
    name,
    args,
  }));
  return {
    ok: true,
    response: response(
      request,
      [...(turn.text === undefined ? [] : [{ type: "text" as const, text: turn.text }]), ...uses],
      "toolUse",
    ),
  };
}

const tokens = (value: unknown): number => Math.ceil(utf8Bytes(JSON.stringify(value)) / 4);
const counted = new WeakMap<object, number>();
/** Once a message: a task of ten thousand steps asks with the same ones again and again. */
function tokensOnce(value: object): number {
  const known = counted.get(value) ?? tokens(value);
  counted.set(value, known);
  return known;
}

/** A token for four bytes, so that books can be checked. */
function response(request: ModelRequest, content: ModelResponse["content"], stopReason: StopReason): ModelResponse {
  const input = request.messages.reduce(
    (sum, message) => sum + tokensOnce(message),
    tokens(request.system) + tokensOnce(request.tools),
  );
  return { content, stopReason, usage: { input, cacheRead: 0, cacheWrite: 0, output: tokens(content), reasoning: 0 } };
}
