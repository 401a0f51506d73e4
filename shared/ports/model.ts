// A model behind a provider. Adapters: adapters/model. Their own retries are off: the engine's policy is the only one.
import type { Rates } from "../core/cost.ts";
import type { ErrorInfo } from "../core/errors.ts";
import type { ModelRequest, ModelResponse, Usage } from "../core/messages.ts";

/** A failure is data: `retryable` ones may be asked again as they are, after `retryAfterMs` where the provider named a time. */
export interface ModelFailure {
  readonly error: ErrorInfo;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** The provider asked for fewer calls (429): the model is left alone by all workers until then. */
  readonly throttled?: boolean;
  /**
   * The provider couldn't be asked for it, but makes or keeps the answer under the ref that it was accepted under: to be fetched (`reattach`), for sending it
   * again would pay it twice. Also where asking again as it is won't help (`retryable` false): once the cause is mended it is there.
   */
  readonly goesOn?: boolean;
  /** What the provider had counted when it failed, and may charge for; left out: it said nothing. */
  readonly usage?: Usage;
}

export type ModelAnswer =
  | { readonly ok: true; readonly response: ModelResponse }
  | { readonly ok: false; readonly failure: ModelFailure };

/** What one call may need of the world, beside its request. */
export interface AskContext {
  /** The content of a file that the request shows (MediaPart); null: it is gone. */
  media(fileId: string): Promise<Uint8Array | null>;
  /** What comes in while the answer is made, for whoever watches; never recorded. Must not throw. */
  onDelta?(delta: Delta): void;
  /** Somebody watches: worth a stream where the answer would else come whole. */
  readonly watched?: boolean;
  /** Awaited when the provider has named a call that can be fetched later, only where `Model.reattaches`. What it throws passes through `ask`. */
  onAccepted?(ref: string): Promise<void>;
  /** A ref that was accepted earlier: the call is fetched, not sent again. A provider that no longer knows it: a retryable failure that doesn't go on. */
  readonly reattach?: string;
}
export type Delta =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  /** What came so far is void: the call is tried anew. */
  | { readonly type: "restart" };

export interface Model {
  /** Whether this call, once begun, can be fetched by another worker, so that a worker's death pays it once. Left out: none can, they are sent again. */
  reattaches?(request: ModelRequest): boolean;
  /**
   * Asks once. Never rejects, but for a bug; an abort answers as a retryable failure. Parts of the history that this model can't take (another provider's
   * reasoning, media it doesn't see) are left out or said in words: a request is always legal.
   */
  ask(request: ModelRequest, signal: AbortSignal, context?: AskContext): Promise<ModelAnswer>;
}

/** US dollars per million tokens; `simulated` prices are shown as such. */
export type Price = Rates;

/** What is known of a model. Null: unknown, and shown as unknown, never as zero. */
export interface ModelFacts {
  readonly price: Price | null;
  /** Tokens of request and answer together; null: no bound is known, nothing is compacted. */
  readonly contextWindow: number | null;
  /** Tokens of one answer at most. */
  readonly maxOutput: number | null;
  readonly images: boolean;
  readonly pdf: boolean;
}

export interface Models {
  /** The model under `provider/name`, or what is wrong with the name or its settings (`model.unknown`, `model.auth`). Loads a provider's SDK at first use. */
  resolve(
    name: string,
  ): Promise<{ readonly ok: true; readonly model: Model } | { readonly ok: false; readonly error: ErrorInfo }>;
  /** From the dated table; what an agent's author says about the model goes before it (core/model-settings.ts). */
  facts(name: string): ModelFacts;
}

export type { Usage };
