// Models whose keys come from a secret: asked for when a model is first needed, and anew when a provider refuses one.
import { TorenError } from "../shared/core/errors.ts";
import type { Model, Models } from "../shared/ports/model.ts";
import type { Secrets, SecretValues } from "../shared/ports/secrets.ts";

export interface SecretModels {
  readonly secrets: Secrets;
  /** Where people put keys, as a message is to name it. */
  readonly place: string;
  /** The models of one state of the secret. */
  make(values: SecretValues): Models;
}

export function modelsWithSecrets({ secrets, place, make }: SecretModels): Models {
  let current: { readonly values: SecretValues; readonly models: Models } | undefined;
  const modelsOf = (values: SecretValues): Models => {
    if (current?.values !== values) current = { values, models: make(values) };
    return current.models;
  };
  const withFreshKey = (name: string, model: Model, values: SecretValues): Model => ({
    ...model,
    ask: async (request, signal, context) => {
      const answer = await model.ask(request, signal, context);
      if (answer.ok || answer.failure.error.code !== "model.auth") return answer;
      const others = await secrets.insteadOf(values);
      if (others === null) return answer;
      const again = await modelsOf(others).resolve(name);
      return again.ok ? await again.model.ask(request, signal, context) : answer;
    },
  });
  const resolve = async (name: string, values: SecretValues): Resolved => {
    const found = await modelsOf(values).resolve(name);
    if (found.ok) return { ok: true, model: withFreshKey(name, found.model, values) };
    if (found.error.code !== "model.auth") return found;
    const others = await secrets.insteadOf(values); // the key may have come a minute ago
    if (others !== null) return await resolve(name, others);
    return { ok: false, error: { ...found.error, message: `${found.error.message} Here it belongs into ${place}.` } };
  };
  return {
    resolve: async (name) => {
      try {
        return await resolve(name, await secrets.read());
      } catch (e) {
        if (!(e instanceof TorenError)) throw e;
        // A secret that is wrong is no better at the next try; one that can't be reached is like a provider that is away.
        if (e.code === "secret.unusable") return { ok: false, error: { code: "model.auth", message: e.message } };
        return { ok: true, model: awayFor(e.message) };
      }
    },
    facts: (name) => (current?.models ?? make({})).facts(name),
  };
}

type Resolved = ReturnType<Models["resolve"]>;

const awayFor = (message: string): Model => ({
  ask: async () => ({ ok: false, failure: { error: { code: "model.unavailable", message }, retryable: true } }),
});
