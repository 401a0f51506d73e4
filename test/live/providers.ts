// The ways to a model that `npm run test:live` proves: what each needs of the environment, how it is reached by a gateway, and what its role says.
export type Env = Readonly<Record<string, string | undefined>>;

export interface Way {
  readonly name: string;
  /** `provider/name`. */
  model(env: Env): string;
  /** As agent.yaml has it. */
  readonly options: string;
  /** What has to be set first; null: all of it is. */
  missing(env: Env): string | null;
  /** Where the provider is; null: its requests can't be passed on, so its log alone is looked at. */
  upstream(env: Env): string | null;
  /** What a worker gets. `url`: the gateway's; null: none stands between. */
  worker(env: Env, url: string | null): Record<string, string>;
  /** Its answers can be fetched again: what was in flight when a worker died isn't asked again. */
  readonly keeps: boolean;
}

const given = (env: Env, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
const needs = (name: string) => (env: Env) => (env[name] ? null : `set ${name}`);

const anthropic: Way = {
  name: "anthropic",
  model: (env) => env.TOREN_LIVE_ANTHROPIC ?? "anthropic/claude-haiku-4-5",
  options: "{}",
  missing: needs("ANTHROPIC_API_KEY"),
  upstream: (env) => env.ANTHROPIC_BASE_URL || "https://api.anthropic.com",
  worker: (env, url) => ({ ...given(env, ["ANTHROPIC_API_KEY"]), ANTHROPIC_BASE_URL: url ?? "" }),
  keeps: false,
};

const openai = (name: string, options: string, keeps: boolean): Way => ({
  name,
  model: (env) => env.TOREN_LIVE_OPENAI ?? "openai/gpt-5-mini",
  options,
  missing: needs("OPENAI_API_KEY"),
  upstream: (env) => env.OPENAI_BASE_URL || "https://api.openai.com/v1",
  worker: (env, url) => ({
    ...given(env, ["OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"]),
    OPENAI_BASE_URL: url ?? "",
  }),
  keeps,
});

const AWS = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_PROFILE",
  "AWS_BEARER_TOKEN_BEDROCK",
  "HOME",
];
const regionOf = (env: Env): string | undefined => env.AWS_REGION || env.AWS_DEFAULT_REGION;
/** A signed request can't be passed on to another host: only with a bearer token, or where a server of one's own is asked. */
const bedrock: Way = {
  name: "bedrock",
  model: (env) => env.TOREN_LIVE_BEDROCK ?? "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0",
  options: "{}",
  missing: (env) => {
    if (!regionOf(env)) return "set AWS_REGION";
    return AWS.slice(0, -1).some((name) => env[name])
      ? null
      : "set AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  },
  upstream: (env) =>
    env.AWS_ENDPOINT_URL_BEDROCK_RUNTIME ||
    (env.AWS_BEARER_TOKEN_BEDROCK ? `https://bedrock-runtime.${regionOf(env)}.amazonaws.com` : null),
  worker: (env, url) => ({
    ...given(env, AWS),
    AWS_REGION: regionOf(env) ?? "",
    ...(url === null ? {} : { AWS_ENDPOINT_URL_BEDROCK_RUNTIME: url }),
  }),
  keeps: false,
};

export const WAYS: readonly Way[] = [
  anthropic,
  openai("openai", "{ api: responses }", false),
  openai("openai-background", "{ api: responses, background: true }", true),
  openai("openai-chat", "{ api: chat }", false),
  bedrock,
];
