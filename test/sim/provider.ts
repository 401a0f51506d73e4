// The model provider and the systems that tools reach: outside the product, so they survive every crash and keep books of their own.
import { hash } from "../../shared/core/digest.ts";
import type { Json } from "../../shared/core/json.ts";
import type { AssistantPart, ModelRequest, ModelResponse, Usage } from "../../shared/core/messages.ts";
import type { Model, ModelAnswer } from "../../shared/ports/model.ts";
import { digestOfRequest } from "../support/log-checker.ts";
import type { Program } from "./program.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

/** One question that arrived: it is paid when it is answered, whoever hears the answer. */
export interface Entry {
  readonly n: number;
  readonly owner: string;
  /** Of the question, derived from the request alone. */
  readonly digest: string;
  readonly system: string;
  readonly usage: Usage;
  readonly askedAt: number;
  answered: boolean;
  /** Answered, failed, or nobody listens any more. */
  over: boolean;
}

/** What a task's input asks of the scripted model. */
export interface Script {
  readonly id: string;
  /** Answers with tool calls before the last answer: each a list of tools. */
  readonly rounds?: readonly (readonly string[])[];
  readonly refuse?: boolean;
  /** Never answers. */
  readonly hang?: boolean;
}

export class Provider {
  readonly ledger: Entry[] = [];
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #faults: { readonly modelFails: number; readonly modelMs: number };
  readonly #bounds: Program["bounds"];
  readonly #failed = new Map<string, number>();
  /** Sees each question as it arrives. */
  onAsked: (entry: Entry) => void = () => {};

  /** `modelFails`: the share of tries that answer 529. At most two for a question, with those that answer 429. */
  constructor(
    scheduler: Scheduler,
    random: Random,
    faults: { readonly modelFails: number; readonly modelMs: number },
    bounds?: Program["bounds"],
  ) {
    this.#scheduler = scheduler;
    this.#bounds = bounds;
    this.#random = random;
    this.#faults = faults;
  }

  modelFor(owner: string): Model {
    return { ask: (request, signal) => this.#ask(owner, request, signal) };
  }

  async #ask(owner: string, request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
    const script = scriptOf(request);
    const digest = digestOfRequest(request);
    const response = respond(script, request);
    const { system } = request;
    const entry: Entry = {
      n: this.ledger.length,
      owner,
      digest,
      system,
      usage: response.usage,
      askedAt: this.#scheduler.now,
      answered: false,
      over: false,
    };
    this.ledger.push(entry);
    this.onAsked(entry);
    const failedBefore = this.#failed.get(digest) ?? 0;
    const throttled = this.#bounds !== undefined && this.#random.chance(this.#bounds.throttled);
    const fails = failedBefore < 2 && (throttled || this.#random.chance(this.#faults.modelFails));
    if (fails) this.#failed.set(digest, failedBefore + 1);
    const answer = (async (): Promise<ModelAnswer> => {
      if (script.hang) await new Promise(() => {});
      await this.#scheduler.point(
        "provider",
        `answers ${script.id} ${entry.n}`,
        1 + this.#random.int(this.#faults.modelMs),
      );
      if (!fails) entry.answered = true;
      entry.over = true;
      await this.#scheduler.point(owner, `hears ${script.id} ${entry.n}`);
      if (!fails) return { ok: true, response };
      return throttled ? tooMany(this.#bounds?.retryAfterMs ?? 0) : UNAVAILABLE;
    })();
    const stopped = new Promise<ModelAnswer>((resolve) => {
      if (signal.aborted) resolve(UNAVAILABLE);
      else signal.addEventListener("abort", () => resolve(UNAVAILABLE), { once: true });
    });
    const heard = await Promise.race([answer, stopped]);
    entry.over = true;
    return heard;
  }
}

const UNAVAILABLE: ModelAnswer = {
  ok: false,
  failure: { error: { code: "model.unavailable", message: "status 529" }, retryable: true },
};

const tooMany = (retryAfterMs: number): ModelAnswer => ({
  ok: false,
  failure: {
    error: { code: "model.unavailable", message: "status 429" },
    retryable: true,
    throttled: true,
    retryAfterMs,
  },
});

function scriptOf(request: ModelRequest): Script {
  const part = request.messages[0]?.content[0];
  if (part?.type !== "text") throw new Error("a task begins with its input");
  if (!part.text.startsWith("{")) return { id: part.text };
  const script = JSON.parse(part.text) as Partial<Script>;
  return { ...script, id: script.id ?? hash(part.text).slice(0, 8) };
}

/**
 * A function of the input and of what was said and done so far, so that a wrong result or a wrong order shows in the output. In a conversation a word of
 * the user's that ends with a tool's name has it called; when things are said is the user's own affair, so the answer names them in one order.
 */
function respond(script: Script, request: ModelRequest): ModelResponse {
  const { messages } = request;
  const answers = messages.filter((m) => m.role === "assistant");
  const round = answers.filter((m) => m.content.some((p) => p.type === "toolUse" && ofScript(p.args, script))).length;
  const usage = { input: 10 + messages.length, cacheRead: 0, cacheWrite: 0, output: 5 + answers.length, reasoning: 0 };
  if (script.refuse) return { content: [text("I won't.")], stopReason: "refusal", usage };
  const wanted = textsOf(messages.at(-1)).filter((said) => TOOL_ASKED.test(said));
  const calls = [
    ...wanted.map((said) => ({ name: TOOL_ASKED.exec(said)?.[1] ?? "", args: { of: said, round: 0, i: 0 } })),
    ...(script.rounds?.[round] ?? []).map((name, i) => ({ name, args: { of: script.id, round, i } })),
  ];
  if (calls.length > 0) {
    const content = calls.map(
      ({ name, args }, i): AssistantPart => ({ type: "toolUse", id: `call_${answers.length}_${i}`, name, args }),
    );
    return { content, stopReason: "toolUse", usage };
  }
  const heard = messages.flatMap((m) => m.content.flatMap((p) => (p.type === "toolResult" ? [p.text] : [])));
  const said = messages.flatMap(textsOf).slice(1);
  const answer = said.length === 0 ? `${script.id}(${heard})` : `${script.id}(${heard.sort()})[${said.sort()}]`;
  return { content: [text(answer)], stopReason: "end", usage };
}
const TOOL_ASKED = / (book|post|look)$/;
const ofScript = (args: Json, { id }: Script): boolean => (args as { of?: unknown } | null)?.of === id;
const textsOf = (message: ModelRequest["messages"][number] | undefined): string[] =>
  message?.role === "user" ? message.content.flatMap((p) => (p.type === "text" ? [p.text] : [])) : [];
const text = (value: string): AssistantPart => ({ type: "text", text: value });

export interface Effect {
  readonly tool: string;
  readonly args: Json;
  readonly key: string;
  readonly fencingToken: number;
}

/** A system with effects: what is asked with a key happens once, what is asked without happens as often as it is asked. */
export class Outside {
  /** By key, in the order they happened. */
  readonly keyed = new Map<string, Effect>();
  readonly unkeyed: Effect[] = [];
  /** Tries of each step, by its key. */
  readonly steps = new Map<string, number>();
  readonly #scheduler: Scheduler;
  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** The request may take effect after its sender has died. */
  async call(owner: string, effect: Effect, kind: "keyed" | "unkeyed" | "none"): Promise<string> {
    await this.#scheduler.point("outside", `does ${effect.tool}`);
    if (kind === "unkeyed") this.unkeyed.push(effect);
    if (kind === "keyed" && !this.keyed.has(effect.key)) this.keyed.set(effect.key, effect);
    await this.#scheduler.point(owner, `did ${effect.tool}`);
    const { of, round, i } = effect.args as { of: string; round: number; i: number };
    return `${effect.tool}:${of}.${round}.${i}`;
  }

  /** Fails the first `failures` tries under a key. */
  async step(owner: string, name: string, key: string, failures: number): Promise<string> {
    await this.#scheduler.point("outside", `step ${name}`);
    const tries = (this.steps.get(key) ?? 0) + 1;
    this.steps.set(key, tries);
    await this.#scheduler.point(owner, `stepped ${name}`);
    if (tries <= failures) throw new Error(`try ${tries} fails`);
    return `${name}!`;
  }
}
