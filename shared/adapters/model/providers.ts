// The providers by name: what each needs of the environment, and how its models are made. What is imported here costs little; the rest comes when asked for.
import type { Json } from "../../core/json.ts";
import type { Model } from "../../ports/model.ts";
import { anthropicThinkingBudget, checkAnthropicOptions } from "./anthropic/options.ts";
import { bedrockThinkingBudget, checkBedrockOptions } from "./bedrock/options.ts";
import { regionOf } from "./bedrock/traits.ts";
import { checkOpenAiOptions } from "./openai/options.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Provider {
  /** What has to be set before `model` can be asked, as a sentence; null: all of it is. */
  missing(model: string, env: Environment): string | null;
  load(model: string, env: Environment): Promise<Model>;
  /** Why `model` would refuse a role's `options`; null: nothing is known against them. */
  checkOptions(model: string, options: Json, env?: Environment): string | null;
  /** Of these options, what the model may think, in tokens, where that has to be less than the answer's limit; null: nothing is set. */
  thinkingBudget(options: Json): number | null;
}

const DEMO = "or use the demo model (`toren dev --model demo` where a server runs)";

/** A server of one's own often wants no key, so an address alone is enough. */
const keyOrAddress = (provider: string, prefix: string, own: string) => (_: string, env: Environment) =>
  env[`${prefix}_API_KEY`] || env[`${prefix}_BASE_URL`]
    ? null
    : `No key for ${provider}/: set ${prefix}_API_KEY, or ${prefix}_BASE_URL for ${own}, where the worker starts, ${DEMO}.`;

const anthropic: Provider = {
  missing: keyOrAddress("anthropic", "ANTHROPIC", "a gateway that holds the key"),
  load: async (model, env) => {
    const { createAnthropic } = await import("./anthropic/index.ts");
    return createAnthropic({ model, apiKey: env.ANTHROPIC_API_KEY ?? "", baseURL: env.ANTHROPIC_BASE_URL });
  },
  checkOptions: checkAnthropicOptions,
  thinkingBudget: anthropicThinkingBudget,
};

const openai: Provider = {
  missing: keyOrAddress("openai", "OPENAI", "a server of your own (Ollama, vLLM)"),
  load: async (model, env) => {
    const { createOpenAi } = await import("./openai/index.ts");
    return createOpenAi({
      model,
      apiKey: env.OPENAI_API_KEY ?? "",
      baseURL: env.OPENAI_BASE_URL,
      organization: env.OPENAI_ORG_ID,
      project: env.OPENAI_PROJECT_ID,
    });
  },
  checkOptions: checkOpenAiOptions,
  thinkingBudget: () => null,
};

/** Credentials are looked for by the SDK when a model is first asked: its chain reaches beyond the environment. */
const bedrock: Provider = {
  missing: (model, env) =>
    bedrockRegion(model, env) === undefined
      ? `No region for bedrock/: set AWS_REGION where the worker starts, or name the model by an ARN, ${DEMO}.`
      : null,
  load: async (model, env) => {
    const { createBedrock } = await import("./bedrock/index.ts");
    const region = bedrockRegion(model, env) ?? "";
    return createBedrock({ model, region, endpoint: env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME });
  },
  checkOptions: checkBedrockOptions,
  thinkingBudget: bedrockThinkingBudget,
};

const bedrockRegion = (model: string, env: Environment): string | undefined =>
  env.AWS_REGION || env.AWS_DEFAULT_REGION || regionOf(model) || undefined;

export const PROVIDERS: Readonly<Record<string, Provider>> = { anthropic, bedrock, openai };
