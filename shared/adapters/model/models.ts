// From a role's `provider/name` to something that can be asked. A provider's SDK is loaded when it is first used: it costs start-up time otherwise.
import { closest } from "../../core/closest.ts";
import type { ErrorInfo } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Model, Models } from "../../ports/model.ts";
import { type Environment, PROVIDERS, type Provider } from "./providers.ts";
import { factsOf } from "./table.ts";

export type { Environment } from "./providers.ts";

export interface ModelsOptions {
  readonly env: Environment;
  /** Models under whole names, such as `mock/script`; tests give theirs here. */
  readonly scripted?: Readonly<Record<string, Model>>;
}

type Named =
  | { readonly ok: true; readonly provider: Provider; readonly model: string }
  | { readonly ok: false; readonly message: string };

/** Why a model can't be asked, as far as its name and the environment tell; null: it can be. `model.unknown`, or `model.auth` where a setting is missing. */
export function modelRefusal(name: string, env: Environment): ErrorInfo | null {
  const named = split(name);
  if (!named.ok) return { code: "model.unknown", message: named.message };
  const missing = named.provider.missing(named.model, env);
  return missing === null ? null : { code: "model.auth", message: missing };
}

/**
 * Why a model would refuse a role's `options`, as a sentence; null: nothing is known against them. `env` decides where it matters how the provider is
 * reached; left out, options pass that fit one of the ways. A name that is no model's has options of no meaning: null, `modelRefusal` speaks of it.
 * `maxTokens` is the role's.
 */
export function checkOptions(name: string, options: Json, maxTokens: number, env?: Environment): string | null {
  const named = split(name);
  if (!named.ok) return null;
  const budget = named.provider.thinkingBudget(options);
  if (budget !== null && budget >= maxTokens)
    return `Options for ${name}: thinking may take ${budget} tokens, which must be less than the role's maxTokens of ${maxTokens}.`;
  return named.provider.checkOptions(named.model, options, env);
}

export function createModels({ env, scripted = {} }: ModelsOptions): Models {
  const loaded = new Map<string, Promise<Model>>();

  return {
    resolve: async (name) => {
      const own = Object.hasOwn(scripted, name) ? scripted[name] : undefined;
      if (own !== undefined) return { ok: true, model: own };
      const refused = modelRefusal(name, env);
      const named = split(name);
      if (refused !== null) return { ok: false, error: refused };
      if (!named.ok) return { ok: false, error: { code: "model.unknown", message: named.message } };
      const found = loaded.get(name) ?? named.provider.load(named.model, env);
      loaded.set(name, found);
      return { ok: true, model: await found };
    },
    facts: factsOf,
  };
}

function split(name: string): Named {
  const slash = name.indexOf("/");
  const provider = name.slice(0, Math.max(0, slash));
  const wrong = (message: string): Named => ({ ok: false, message });
  if (slash <= 0 || slash === name.length - 1)
    return wrong(`"${name}" is no model name: write provider/name, such as openai/gpt-5-mini.`);
  if (provider === "mock") return wrong(`"${name}" is not scripted: mock/ models exist in tests only.`);
  const found = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  if (found === undefined)
    return wrong(`There is no provider "${provider}". ${closest(provider, Object.keys(PROVIDERS))}`);
  return { ok: true, provider: found, model: name.slice(slash + 1) };
}
