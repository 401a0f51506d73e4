// From a role's `provider/name` to something that can be asked. A provider's SDK is loaded when it is first used: it costs start-up time otherwise.
import { closest } from "../../core/closest.ts";
import type { ErrorInfo } from "../../core/errors.ts";
import type { Model, Models } from "../../ports/model.ts";
import { factsOf } from "./table.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ModelsOptions {
  readonly env: Environment;
  /** Models under whole names, such as `mock/script`; tests give theirs here. */
  readonly scripted?: Readonly<Record<string, Model>>;
}

const LATER = new Set(["anthropic", "bedrock"]);

/** Why a model can't be asked, as far as its name and the environment tell; null: it can be. `model.unknown`, or `model.auth` where a key is missing. */
export function modelRefusal(name: string, env: Environment): ErrorInfo | null {
  const unknown = (message: string): ErrorInfo => ({ code: "model.unknown", message });
  const slash = name.indexOf("/");
  const provider = name.slice(0, Math.max(0, slash));
  if (slash <= 0 || slash === name.length - 1)
    return unknown(`"${name}" is no model name: write provider/name, such as openai/gpt-5-mini.`);
  if (LATER.has(provider))
    return unknown(
      `Provider "${provider}" is not in this version; openai/ is, with any base URL that speaks its chat completions.`,
    );
  if (provider === "mock") return unknown(`"${name}" is not scripted: mock/ models exist in tests only.`);
  if (provider !== "openai") return unknown(`There is no provider "${provider}". ${closest(provider, ["openai"])}`);
  if (env.OPENAI_API_KEY || env.OPENAI_BASE_URL) return null;
  return {
    code: "model.auth",
    message:
      "No key for openai/: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own (Ollama, vLLM), where the worker starts, or use the demo model (`toren dev --model demo` where a server runs).",
  };
}

export function createModels({ env, scripted = {} }: ModelsOptions): Models {
  const loaded = new Map<string, Promise<Model>>();

  return {
    resolve: async (name) => {
      const own = Object.hasOwn(scripted, name) ? scripted[name] : undefined;
      if (own !== undefined) return { ok: true, model: own };
      const refused = modelRefusal(name, env);
      if (refused !== null) return { ok: false, error: refused };
      const model = name.slice(name.indexOf("/") + 1);
      const key = env.OPENAI_API_KEY;
      const found =
        loaded.get(name) ??
        import("./openai.ts").then((m) =>
          m.createOpenAiChat({
            model,
            apiKey: key || "none",
            baseURL: env.OPENAI_BASE_URL,
            organization: env.OPENAI_ORG_ID,
            project: env.OPENAI_PROJECT_ID,
          }),
        );
      loaded.set(name, found);
      return { ok: true, model: await found };
    },
    facts: factsOf,
  };
}
