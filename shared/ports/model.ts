// A model behind a provider. Adapters: adapters/model/{openai,mock}. Their own retries are off: the engine's policy is the only one.
import type { ErrorInfo } from "../core/errors.ts";
import type { ModelRequest, ModelResponse, Usage } from "../core/messages.ts";

/** A failure is data: `retryable` ones may be asked again as they are, after `retryAfterMs` where the provider named a time. */
export interface ModelFailure {
  readonly error: ErrorInfo;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
}

export type ModelAnswer =
  | { readonly ok: true; readonly response: ModelResponse }
  | { readonly ok: false; readonly failure: ModelFailure };

export interface Model {
  /** Asks once. Never rejects, but for a bug; an abort answers as a retryable failure. */
  ask(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>;
}

/** US dollars per million tokens; `simulated` prices are shown as such. */
export interface Price {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly simulated: boolean;
}

export interface Models {
  /** The model under `provider/name`, or what is wrong with the name or its settings (`model.unknown`, `model.auth`). Loads a provider's SDK at first use. */
  resolve(
    name: string,
  ): Promise<{ readonly ok: true; readonly model: Model } | { readonly ok: false; readonly error: ErrorInfo }>;
  /** Null: unknown, and shown as unknown, never as zero. */
  price(name: string): Price | null;
}

export type { Usage };
