// What a refused request can do without, it does without. A refusal costs no money, and a conversation that a provider refuses for one odd part would be
// refused for ever: the part is left out, and the question is asked again at once.
import { MODEL_PARTS_LEFT_OUT_MAX } from "../../core/limits.ts";
import { addUsage, type ModelResponse, NO_USAGE, totalTokens, type Usage } from "../../core/messages.ts";
import type { ModelAnswer, ModelFailure } from "../../ports/model.ts";
import { withUsage } from "./failure.ts";

/** One try. `refusal`: what the provider has against the request itself; null: nothing, it failed otherwise. */
export type Asked<R> =
  | { readonly ok: true; readonly response: ModelResponse }
  | { readonly ok: false; readonly failure: ModelFailure; readonly refusal: R | null };

/** `P`: what a request is made by; `D`: the request as it goes out; `R`: a refusal. */
export interface Asking<P, D, R> {
  draft(plan: P): D;
  ask(draft: D, plan: P): Promise<Asked<R>>;
  /** The plan without what a refusal is about; null: nothing in the request explains it. `last`: no further try follows that one. */
  without(refusal: R, draft: D, plan: P, last: boolean): P | null;
}

/**
 * Asks until the provider takes it, or has nothing more against it that can be left out. Where a provider charged for what it refused, that is in the usage
 * of the end. `plan`: how it was asked in the end.
 */
export async function askLegally<P, D, R>(
  first: P,
  { draft: draftOf, ask, without }: Asking<P, D, R>,
): Promise<{ readonly answer: ModelAnswer; readonly plan: P }> {
  let plan = first;
  let before = NO_USAGE;
  for (let left = MODEL_PARTS_LEFT_OUT_MAX; ; left--) {
    const draft = draftOf(plan);
    const asked = await ask(draft, plan);
    if (asked.ok) return { answer: { ok: true, response: charged(asked.response, before) }, plan };
    const { failure, refusal } = asked;
    before = addUsage(before, failure.usage ?? NO_USAGE);
    const less = refusal === null || left === 0 ? null : without(refusal, draft, plan, left === 1);
    if (less === null) return { answer: { ok: false, failure: withUsage(failure, before) }, plan };
    plan = less;
  }
}

const charged = (response: ModelResponse, before: Usage): ModelResponse =>
  totalTokens(before) === 0 ? response : { ...response, usage: addUsage(before, response.usage) };
