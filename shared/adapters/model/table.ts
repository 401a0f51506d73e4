// What is known of models: prices in US dollars per million tokens, window, most output, what they see. What is unknown is null, never a guess; docs/reference/models.md
// shows this table, and a test holds the two equal. As of 2026-11-29; each block names where its numbers stand.
import type { ModelFacts, Price } from "../../ports/model.ts";
import { knownUnder } from "./names.ts";

/** Of the rule-based model server and of scripted models: made-up numbers of a usual size, always shown as simulated. */
const SIMULATED: Price = { input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 5, simulated: true };

/** Name of the model that `toren model-server` serves. */
export const DEMO_MODEL = "rule-based-1";

const UNKNOWN: ModelFacts = { price: null, contextWindow: null, maxOutput: null, images: false, pdf: false };

type Facts = Readonly<Record<string, ModelFacts>>;

/** In the order of the price lists; where writing to the cache costs nothing of its own, it is input. */
const price = (input: number, cacheRead: number, cacheWrite: number, output: number): Price => ({
  input,
  cacheRead,
  cacheWrite,
  output,
  simulated: false,
});
const rounded = (usd: number): number => Math.round(usd * 1e6) / 1e6;
const withLong = (short: Price, aboveTokens: number, long: Price): Price => {
  const { simulated: _, ...rates } = long;
  return { ...short, long: { aboveTokens, ...rates } };
};
const sees = (of: Price | null, contextWindow: number | null, maxOutput: number | null): ModelFacts => ({
  price: of,
  contextWindow,
  maxOutput,
  images: true,
  pdf: true,
});
const readsOnly = (of: Price | null, contextWindow: number | null, maxOutput: number | null): ModelFacts => ({
  ...sees(of, contextWindow, maxOutput),
  images: false,
  pdf: false,
});

// platform.claude.com/docs/en/about-claude/pricing, /docs/en/models/<model>/overview and /docs/en/about-claude/models/overview; images and PDFs:
// /docs/en/build-with-claude/vision, …/pdf-support. Cache writes are those of five minutes, which is what is asked for.
const OPUS = price(5, 0.5, 6.25, 25);
const SONNET_4 = price(3, 0.3, 3.75, 15);
const FABLE_5 = price(10, 1, 12.5, 50);
const FABLE_5_1 = price(10, 0.25, 12.5, 50);
const HAIKU_5_5 = withLong(price(0.1, 0.01, 0.125, 0.5), 100_000, price(0.5, 0.05, 0.625, 2.5));
const ANTHROPIC: Facts = {
  "claude-fable-5-2": sees(price(8, 0.2, 10, 40), 1_000_000, 128_000),
  "claude-fable-5-1": sees(FABLE_5_1, 1_000_000, 128_000),
  "claude-mythos-5-1": sees(FABLE_5_1, 1_000_000, 128_000),
  "claude-fable-5": sees(FABLE_5, 1_000_000, 128_000),
  "claude-mythos-5": sees(FABLE_5, 1_000_000, 128_000),
  "claude-opus-5-5": sees(price(4, 0.2, 5, 20), 1_000_000, 128_000),
  "claude-opus-5": sees(OPUS, 1_000_000, 128_000),
  "claude-opus-4-8": sees(OPUS, 1_000_000, 128_000),
  "claude-opus-4-7": sees(OPUS, 1_000_000, 128_000),
  "claude-opus-4-6": sees(OPUS, 1_000_000, 128_000),
  "claude-opus-4-5": sees(OPUS, 200_000, 64_000),
  "claude-sonnet-5-5": sees(price(2, 0.1, 2.5, 10), 1_000_000, 128_000),
  "claude-sonnet-5": sees(price(2, 0.2, 2.5, 10), 1_000_000, 128_000),
  "claude-sonnet-4-6": sees(SONNET_4, 1_000_000, 128_000),
  "claude-sonnet-4-5": sees(SONNET_4, 200_000, 64_000),
  "claude-haiku-5-5": sees(HAIKU_5_5, 1_000_000, 128_000),
  "claude-haiku-4-5": sees(price(1, 0.1, 1.25, 5), 200_000, 64_000),
};

// developers.openai.com/api/docs/models/<model> and /api/docs/pricing; PDFs: /api/docs/guides/pdf-files (models that see images). Above 272,000 tokens of
// input everything of input costs twice, output once and a half.
const longAt272k = (short: Price): Price => {
  const { input, cacheRead, cacheWrite, output } = short;
  return withLong(short, 272_000, price(input * 2, cacheRead * 2, cacheWrite * 2, rounded(output * 1.5)));
};
const GPT_6 = [1_050_000, 128_000] as const;
const GPT_5 = [400_000, 128_000] as const;
const GPT_4_1 = [1_047_576, 32_768] as const;
const OPENAI: Facts = {
  "gpt-6-astra": sees(longAt272k(price(10, 1, 12.5, 50)), ...GPT_6),
  "gpt-6.2-sol": sees(longAt272k(price(2, 0.1, 2.5, 10)), ...GPT_6),
  "gpt-6.1-sol": sees(longAt272k(price(2, 0.1, 2.5, 10)), ...GPT_6),
  "gpt-6-sol": sees(longAt272k(price(2, 0.2, 2.5, 10)), ...GPT_6),
  "gpt-6-luna": sees(longAt272k(price(0.1, 0.01, 0.125, 0.5)), ...GPT_6),
  "gpt-5.6-sol": sees(null, ...GPT_6),
  "gpt-5.6-terra": sees(longAt272k(price(2, 0.2, 2.5, 12)), ...GPT_6),
  "gpt-5.6-luna": sees(longAt272k(price(0.2, 0.02, 0.25, 1.2)), ...GPT_6),
  "gpt-5.5": sees(longAt272k(price(5, 0.5, 5, 30)), ...GPT_6),
  "gpt-5.4": sees(longAt272k(price(2.5, 0.25, 2.5, 15)), ...GPT_6),
  "gpt-5.4-mini": sees(price(0.75, 0.075, 0.75, 4.5), ...GPT_5),
  "gpt-5.4-nano": sees(price(0.2, 0.02, 0.2, 1.25), ...GPT_5),
  "gpt-5.2": sees(price(1.75, 0.175, 1.75, 14), ...GPT_5),
  "gpt-5.1": sees(price(1.25, 0.125, 1.25, 10), ...GPT_5),
  "gpt-5": sees(price(1.25, 0.125, 1.25, 10), ...GPT_5),
  "gpt-5-mini": sees(price(0.25, 0.025, 0.25, 2), ...GPT_5),
  "gpt-5-nano": sees(price(0.05, 0.005, 0.05, 0.4), ...GPT_5),
  "gpt-4.1": sees(price(2, 0.5, 2, 8), ...GPT_4_1),
  "gpt-4.1-mini": sees(price(0.4, 0.1, 0.4, 1.6), ...GPT_4_1),
  "gpt-4.1-nano": sees(price(0.1, 0.025, 0.1, 0.4), ...GPT_4_1),
  "gpt-4o": sees(price(2.5, 1.25, 2.5, 10), 128_000, 16_384),
  "gpt-4o-mini": sees(price(0.15, 0.075, 0.15, 0.6), 128_000, 16_384),
  o3: sees(price(2, 0.5, 2, 8), 200_000, 100_000),
  "o4-mini": sees(price(1.1, 0.275, 1.1, 4.4), 200_000, 100_000),
};

// aws.amazon.com/bedrock/pricing, in us-east-1; windows: the models' pages of docs.aws.amazon.com/bedrock and docs.aws.amazon.com/nova.
const BEDROCK: Facts = {
  "amazon.nova-pro": sees(price(0.8, 0.2, 0.8, 3.2), 300_000, 8_192),
  "amazon.nova-lite": sees(price(0.06, 0.015, 0.06, 0.24), 300_000, 8_192),
  "amazon.nova-micro": readsOnly(price(0.035, 0.00875, 0.035, 0.14), 128_000, 8_192),
  "openai.gpt-oss-120b": readsOnly(price(0.15, 0.15, 0.15, 0.6), 128_000, 16_384),
  "openai.gpt-oss-20b": readsOnly(price(0.07, 0.07, 0.07, 0.3), 128_000, 16_384),
  "meta.llama3-3-70b-instruct": readsOnly(price(0.72, 0.72, 0.72, 0.72), 128_000, 4_096),
};

/** What the documentation shows of each provider, under the name that a role gives. */
export const KNOWN_MODELS: readonly (readonly [name: string, facts: ModelFacts])[] = [
  ...Object.entries(ANTHROPIC).map(([name, facts]) => [`anthropic/${name}`, facts] as const),
  ...Object.entries(OPENAI).map(([name, facts]) => [`openai/${name}`, facts] as const),
  ...Object.entries(BEDROCK).map(([name, facts]) => [`bedrock/${name}`, facts] as const),
];

/** Of a model that the table doesn't hold: the least that a current one of its provider has. */
const UNKNOWN_CLAUDE: ModelFacts = { ...UNKNOWN, contextWindow: 200_000, images: true, pdf: true };
const UNKNOWN_OPENAI: ModelFacts = { ...UNKNOWN, contextWindow: 128_000 };

export function factsOf(name: string): ModelFacts {
  if (name === `openai/${DEMO_MODEL}` || name.startsWith("mock/")) return { ...UNKNOWN, price: SIMULATED };
  const [, provider = "", model = ""] = /^([^/]+)\/(.+)$/s.exec(name) ?? [];
  switch (provider) {
    case "anthropic":
      return knownUnder(ANTHROPIC, model) ?? UNKNOWN_CLAUDE;
    case "openai":
      return knownUnder(OPENAI, model) ?? UNKNOWN_OPENAI;
    case "bedrock":
      return bedrockFacts(model);
    default:
      return UNKNOWN;
  }
}

/** An inference profile's prefix says where the model runs: prices are those of us-east-1, and Claude's have a rule of their own. */
function bedrockFacts(id: string): ModelFacts {
  const [, place = "", model = ""] = /^(?:(us|us-gov|eu|apac|jp|au|ca|sa|global)\.)?(.+)$/s.exec(id) ?? [];
  if (model.startsWith("anthropic.")) return claudeOnBedrock(place, model.slice("anthropic.".length));
  const facts = knownUnder(BEDROCK, model) ?? UNKNOWN;
  return place === "" || place === "us" ? facts : { ...facts, price: null };
}

/** Global profiles cost what Anthropic asks; what stays in a region or a part of the world costs a tenth more (platform.claude.com/docs/en/about-claude/pricing). */
function claudeOnBedrock(place: string, model: string): ModelFacts {
  const facts = knownUnder(ANTHROPIC, model) ?? UNKNOWN_CLAUDE;
  if (facts.price === null || place === "global") return facts;
  return { ...facts, price: place === "us-gov" ? null : tenthMore(facts.price) };
}

function tenthMore({ simulated, long, ...rates }: Price): Price {
  const more = <T extends Readonly<Record<string, number>>>(of: T): T =>
    Object.fromEntries(Object.entries(of).map(([name, usd]) => [name, rounded(usd * 1.1)])) as T;
  if (long === undefined) return { ...more(rates), simulated };
  const { aboveTokens, ...longRates } = long;
  return { ...more(rates), simulated, long: { aboveTokens, ...more(longRates) } };
}
